import { join } from "node:path";
import { execa } from "execa";
import { onTestFinished } from "vitest";
import { startListening } from "../harness/listening-process.ts";
import { REPOSITORY, temporaryDirectory, userDirectory } from "../harness/temporary.ts";

/** The shell blocks of a document. */
export const blocks = (text: string): string[] =>
  [...text.matchAll(/```sh\n([^]*?)```/g)].map((match) => match[1] ?? "");

/** The first of them that has this part. */
export function find(text: string, part: string): string {
  const block = blocks(text).find((candidate) => candidate.includes(part));
  if (block === undefined) throw new Error(`no command with ${part}`);
  return block;
}

/** Runs a script as a person does who has pasted it. */
export const run = (script: string, env: Record<string, string> = {}, cwd = REPOSITORY) =>
  execa("bash", ["-euo", "pipefail", "-c", script], { cwd, env, reject: false, stdin: "ignore" });

/** Runs a script that becomes `npm start`, with directories of this test's own, and waits until turnd listens. */
export async function start(script: string, env: Record<string, string> = {}) {
  const directory = temporaryDirectory(onTestFinished);
  const { url, log, exited, kill } = await startListening(
    ["bash", "-euo", "pipefail", "-c", script],
    {
      ...process.env,
      TURND_PORT: "0",
      TURND_STATE_DIR: join(directory, "state"),
      TURND_HOME: userDirectory(join(directory, "home")),
      TURND_WORKSPACE: userDirectory(join(directory, "workspace")),
      // As in the image: where tests run user namespaces may be off.
      CLI_B_SANDBOX_MODE: "danger-full-access",
      ...env,
    },
    REPOSITORY,
  );
  onTestFinished(() => kill("SIGTERM"));
  return {
    host: new URL(url).host,
    state: join(directory, "state"),
    log,
    stop(): Promise<number | null> {
      kill("SIGTERM");
      return exited;
    },
  };
}
