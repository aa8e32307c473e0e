import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Exit } from "../../src/turnd/protocol/index.ts";
import { toExpected } from "./label.ts";
import type { Cli } from "./run-cli.ts";
import type { Scene } from "./scene.ts";

/** What one run of the CLI left behind. */
export interface Played {
  readonly args: readonly string[];
  readonly exit: Exit;
  readonly isStopped: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** A scene that was played. */
export interface PlayedScene {
  readonly cli: Cli;
  readonly scene: Scene;
  /** Holds everything of the run. */
  readonly base: string;
  readonly played: Played;
  /** The session that it was to continue. */
  readonly session: string | undefined;
}

/** Leaves a labelled recording; paths of this machine become those of a sandbox. */
export function leaveRecording({ cli, scene, base, played, session }: PlayedScene, directory: string): void {
  const { args, exit, isStopped, stdout, stderr } = played;
  const { executor, version } = cli;
  const normalise = (text: string): string =>
    text
      .replaceAll(`${base}/home`, "/home/sandbox")
      .replaceAll(`${base}/workspace`, "/workspace")
      .replaceAll(`${base}/tmp`, "/tmp")
      .replaceAll(base, "/home")
      // Which registry a machine uses is its own matter.
      .replaceAll(/https:\/\/registry\.[\w.-]+/g, "https://registry.invalid")
      // Without its first slash, as the CLI writes the place of a project.
      .replaceAll(`${base.slice(1)}/workspace`, "workspace")
      .replaceAll(`${base.slice(1)}/home`, "home/sandbox");
  mkdirSync(directory, { recursive: true });
  const write = (name: string, value: unknown): void =>
    writeFileSync(join(directory, name), typeof value === "string" ? value : `${JSON.stringify(value, null, 2)}\n`);
  write("stdout.jsonl", normalise(stdout));
  write("stderr.log", normalise(stderr));
  write("exit.json", exit);
  write("turn.json", {
    executor,
    cli_version: version,
    args,
    mode: args.includes("--agent=plan") ? "plan" : "execute",
    requested_session: session ?? null,
    ended_by: isStopped ? (scene.stop?.endedBy ?? null) : null,
    note: scene.label.why,
  });
  write("expected.json", toExpected(scene.label, normalise(stdout), session));
}
