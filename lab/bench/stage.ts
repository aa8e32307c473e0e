import { existsSync, mkdtempSync, chmodSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { z } from "zod";
import { TurnAdmission } from "../../src/turnd/protocol/index.ts";
import { startDaemon, type TestDaemon } from "../../test/harness/daemon.ts";
import { fakeEnv } from "../../test/harness/fake-env.ts";
import { followEvents, type Arrival } from "./sse-client.ts";

const ROOT = join(import.meta.dirname, "../..");
/** turnd from source. */
export const MAIN = join(ROOT, "src/turnd/main.ts");
const BUNDLER = join(ROOT, "scripts/bundle.ts");

/** A daemon with the fake CLI B, in a directory of its own. */
export interface Stage {
  readonly turnd: TestDaemon;
  readonly directory: string;
}

/**
 * Runs something with a daemon that is gone when it has ended.
 *
 * @param program - its `main`; absent: the source
 */
export async function withDaemon<T>(
  directory: string,
  use: (stage: Stage) => Promise<T>,
  program: string = MAIN,
): Promise<T> {
  const turnd = await startDaemon({ directory, env: fakeEnv(directory), program });
  try {
    return await use({ turnd, directory });
  } finally {
    await turnd.stop();
  }
}

/** Makes, once in a directory, the tree that the image runs. @returns its `main` */
export async function bundleTurnd(directory: string): Promise<string> {
  const target = join(directory, "bundle");
  if (!existsSync(target)) {
    await execa(process.execPath, [BUNDLER, target]);
    symlinkSync(join(ROOT, "sandbox"), join(target, "sandbox"));
  }
  return join(target, "dist/turnd/main.mjs");
}

/** Runs something with a directory that the CLIs' user can enter, removed when it has ended. */
export async function withDirectory<T>(name: string, use: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), `${name}-`));
  chmodSync(directory, 0o755);
  try {
    return await use(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Admits a turn and follows its events to the end. */
export async function runTurn(
  { turnd }: Stage,
  input: string,
  { now, onArrival, onAdmitted }: RunOptions,
): Promise<TurnAdmission> {
  const admission = TurnAdmission.parse(await turnd.admit({ executor: "cli-b", input }));
  onAdmitted?.(admission);
  await followEvents(`${turnd.url}/v1/turns/${admission.turn_id}/events`, now, onArrival);
  return admission;
}

export interface RunOptions {
  readonly now: () => number;
  readonly onArrival: (arrival: Arrival) => void;
  readonly onAdmitted?: (admission: TurnAdmission) => void;
}

const Message = z.object({ data: z.object({ text: z.string() }) });

/** The text of a frame that carries a message; undefined for any other. */
export function messageOf(frame: string): string | undefined {
  if (!frame.includes("\nevent: message\n")) return undefined;
  return Message.parse(JSON.parse(frame.slice(frame.indexOf("\ndata: ") + 7))).data.text;
}
