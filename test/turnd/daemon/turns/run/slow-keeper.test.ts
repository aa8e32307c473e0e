import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { readStarted, type StartedProcess } from "../../../../../src/turnd/daemon/process/keeper/keeper.ts";
import { readProcess } from "../../../../../src/turnd/daemon/process/keeper/process-table.ts";
import { fakeDaemon } from "../../../../harness/fake-daemon.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

/** Longer than a turn waits for the exit before it sweeps, and than a sweep gives a keeper that cannot write. */
const SLOW_MS = 14_000;

/** The keeper stands still from before its command's end until long after. */
async function holdBack({ keeperPid, pid }: StartedProcess): Promise<void> {
  process.kill(keeperPid, "SIGSTOP");
  await waitFor("the command's end", () => readProcess(pid)?.state === "Z");
  await delay(SLOW_MS);
  process.kill(keeperPid, "SIGCONT");
}

test("a turn is completed however long its keeper takes to write down its command's end", async () => {
  const turnd = await fakeDaemon();
  const { session_id, turn_id } = await turnd.admit({ executor: "cli-b", input: "a message\nsleep 1\nthe end" });
  await waitFor("its first words", async () => (await turnd.events(turn_id)).some(({ type }) => type === "message"));
  const started = await readStarted(join(turnd.state, "sessions", session_id, "turns", turn_id));
  if (started === undefined) throw new Error("nothing was started");
  await holdBack(started);
  await waitFor("the end", async () => (await turnd.events(turn_id)).at(-1)?.type === "turn.ended");
  const { body } = await turnd.request("GET", `/v1/turns/${turn_id}/result`);
  expect(body).toMatchObject({ status: "completed", output: "the end", exit: { code: 0, signal: null } });
});
