import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readChecked } from "../../../../harness/checking-reader.ts";
import { fakeDaemon } from "../../../../harness/fake-daemon.ts";

const BURST = 50_000;
/** turn.started, session.bound, the messages, turn.ended. */
const EVENTS = BURST + 3;
/** Idle, a daemon has about 130 MiB; 22 clients that were each owed 15 MB would make it 300 more. */
const MEMORY_LIMIT_MIB = 400;

test(
  "22 clients see the same 50 000 events of a burst, though one stalls and 20 come and go; memory stays bounded",
  { timeout: 60_000 },
  async ({ signal }) => {
    const turnd = await fakeDaemon();
    const { turn_id } = await turnd.admit({ executor: "cli-b", input: `burst ${BURST}` });
    const url = (): string => `${turnd.url}/v1/turns/${turn_id}/events`;
    const { promise: othersAreDone, resolve: release } = Promise.withResolvers<void>();
    const stalled = readChecked({ url, stalledUntil: othersAreDone, signal });
    const others = await Promise.all([
      readChecked({ url, signal }),
      ...Array.from({ length: 20 }, () =>
        readChecked({ url, breakAfter: () => Math.ceil(Math.random() * 20_000), signal }),
      ),
    ]);
    const peakMiB = peakMemoryMiB(turnd.pid);
    release();
    const all = [...others, await stalled];
    expect(new Set(all.map(({ lastSeq }) => lastSeq))).toEqual(new Set([EVENTS]));
    expect(new Set(all.map(({ digest }) => digest)).size).toBe(1);
    const connections = all.reduce((sum, reader) => sum + reader.connections, 0);
    process.stdout.write(`22 clients, ${connections} connections: the daemon's peak is ${peakMiB.toFixed(0)} MiB\n`);
    expect(peakMiB).toBeLessThan(MEMORY_LIMIT_MIB);
  },
);

test("a cursor beyond the end is answered with where the end is", async () => {
  const turnd = await fakeDaemon();
  const { turn_id } = await turnd.run({ executor: "cli-b", input: "hello" });
  const answer = await turnd.request("GET", `/v1/turns/${turn_id}/events`, undefined, {
    accept: "text/event-stream",
    "last-event-id": "5",
  });
  expect(answer.status).toBe(416);
  expect(answer.body.detail).toMatchObject({ code: "cursor_beyond_end", last_seq: 4 });
});

/** The most that was ever resident of a process. */
function peakMemoryMiB(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}
