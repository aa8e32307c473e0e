import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

const DAY_MS = 86_400_000;

interface Change {
  /** How far the clock has been set forward since the turn started. */
  readonly setMs: number;
  /** Whether the turn is one of an earlier turnd, which kept the clock's time alone. */
  readonly isOld?: boolean;
}

/** What a clock that was set leaves: a start that lies elsewhere, as it sees it. */
function changeStart(turnd: TestDaemon, sessionId: string, turnId: string, { setMs, isOld = false }: Change): void {
  const path = join(turnd.state, "sessions", sessionId, "turns", turnId, "turn.json");
  const { started_at: at, started_boot: boot, ...file } = JSON.parse(readFileSync(path, "utf8"));
  expect(boot).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), ms: expect.any(Number) });
  const started_at = new Date(Date.parse(at) - setMs).toISOString();
  writeFileSync(path, JSON.stringify({ ...file, started_at, ...(isOld ? {} : { started_boot: boot }) }));
}

/** A turn that waits for a file, of a turnd that is killed; the next one goes on with it. */
async function killAndChange(timeoutMs: number, change: Change) {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const session_id = "session-1";
  const go = join(first.workspace, "go");
  const input = `shell touch ${go}-waits; until [ -e ${go} ]; do sleep 0.02; done`;
  const { turn_id } = await first.admit({ executor: "cli-b", session_id, input, timeout_ms: timeoutMs });
  await waitFor("it runs", () => existsSync(`${go}-waits`));
  first.kill("SIGKILL");
  await first.exited;
  changeStart(first, session_id, turn_id, change);
  const turnd = await fakeDaemonIn(directory);
  const look = async () => (await turnd.request("GET", `/v1/turns/${turn_id}`)).body;
  const result = async () => {
    await waitFor("its end", async () => (await look()).status !== "running");
    return (await turnd.request("GET", `/v1/turns/${turn_id}/result`)).body;
  };
  return { go, look, result };
}

test.each([8 * DAY_MS, -8 * DAY_MS])(
  "a clock that is set by %i ms while turnd is down neither ends a turn nor makes it longer",
  async (setMs) => {
    const { go, look, result } = await killAndChange(600_000, { setMs });
    // Where the clock counted, this is after its end.
    await delay(1_000);
    expect(await look()).toMatchObject({ status: "running" });
    writeFileSync(go, "");
    const ended = await result();
    expect(ended.status).toBe("completed");
    expect(ended.duration_ms).toBeGreaterThan(0);
    expect(ended.duration_ms).toBeLessThan(DAY_MS);
    expect(Date.parse(ended.ended_at)).toBeGreaterThanOrEqual(Date.parse((await look()).started_at));
  },
);

test("the timeout of a turn goes on while turnd is down, though the clock is set back", async () => {
  const { result } = await killAndChange(8_000, { setMs: -8 * DAY_MS });
  const ended = await result();
  expect(ended).toMatchObject({ status: "failed", failure: { code: "turn_timeout" } });
});

test("of a turn of an earlier turnd the clock tells how long it has run", async () => {
  const { result } = await killAndChange(600_000, { setMs: 8 * DAY_MS, isOld: true });
  const ended = await result();
  expect(ended).toMatchObject({ status: "failed", failure: { code: "turn_timeout" } });
  expect(ended.duration_ms).toBeGreaterThan(7 * DAY_MS);
});
