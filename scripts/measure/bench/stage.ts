import { mkdtempSync, chmodSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { TurnAdmission } from "../../../src/protocol/index.ts";
import { startDaemon, type TestDaemon } from "../../../test/harness/daemon.ts";
import { fakeEnv } from "../../../test/harness/fake-env.ts";
import { followEvents, type Arrival } from "./sse-client.ts";

const MAIN = join(import.meta.dirname, "../../../src/daemon/main.ts");

/** A daemon with the fake CLI B, in a directory of its own. */
export interface Stage {
  readonly turnd: TestDaemon;
  readonly directory: string;
}

/** Runs something with a daemon that is gone when it has ended. */
export async function withDaemon<T>(directory: string, use: (stage: Stage) => Promise<T>): Promise<T> {
  const turnd = await startDaemon({ directory, env: fakeEnv(directory), program: MAIN });
  try {
    return await use({ turnd, directory });
  } finally {
    await turnd.stop();
  }
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
