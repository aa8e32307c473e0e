import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { measureDirectory } from "../../src/daemon/process/user-files/measure-directory.ts";
import { createMemoryIndex, type StateIndex } from "../../src/daemon/state-index/state-index.ts";
import { startRetention, type RetentionLimits } from "../../src/daemon/turns/retention.ts";
import { fakeDaemonIn } from "../harness/fake-daemon.ts";
import { CLI_USER, temporaryDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

const DAY_MS = 86_400_000;
const NOW = Date.parse("2026-11-22T12:00:00.000Z");
const daysAgo = (days: number): string => new Date(NOW - days * DAY_MS).toISOString();

/** Sessions by the days since something happened in them, each of 100 bytes. */
function indexOf(ages: Readonly<Record<string, number>>): StateIndex {
  const index = createMemoryIndex();
  for (const [id, age] of Object.entries(ages)) {
    index.putSession({ session_id: id, created_at: daysAgo(500), key: "", data: "{}" });
    index.touchSession(id, { at: daysAgo(age), key: "" });
  }
  return index;
}

/** What a retention deletes, in its order. */
async function deletedBy(
  limits: RetentionLimits,
  index: StateIndex,
  { inUse = [], now = NOW }: { inUse?: readonly string[]; now?: number } = {},
): Promise<string[]> {
  const deleted: string[] = [];
  const retention = startRetention({
    index,
    limits,
    async deleteIdle(id) {
      if (inUse.includes(id)) return false;
      deleted.push(id);
      index.forgetSession(id);
      return true;
    },
    measure: async () => 100,
    now: () => new Date(now),
    observer: { sessionRetired: () => undefined },
    logger: pino({ level: "silent" }),
  });
  await retention.runOnce();
  const first = deleted.length;
  // Nothing more is beyond the limits.
  await retention.runOnce();
  expect(deleted.length).toBe(first);
  await retention.stop();
  return deleted;
}

test("sessions are deleted so many days after their last turn, the oldest first", async () => {
  const ages = { "session-new": 1, "session-old": 40, "session-older": 50, "session-edge": 29.9 };
  expect(await deletedBy({ days: 30, bytes: 0 }, indexOf(ages))).toEqual(["session-older", "session-old"]);
  expect(await deletedBy({ days: 0, bytes: 0 }, indexOf(ages))).toEqual([]);
});

test("no more is deleted than has to be for the size, and what is in use stays", async () => {
  const index = indexOf({ a: 9, b: 8, c: 7, d: 6 });
  expect(await deletedBy({ days: 0, bytes: 250 }, index, { inUse: ["a"] })).toEqual(["b", "c"]);
  expect(await deletedBy({ days: 0, bytes: 400 }, indexOf({ a: 9, b: 8, c: 7, d: 6 }))).toEqual([]);
});

test("where everything that is left is in use the retention ends", async () => {
  const ages = Object.fromEntries(Array.from({ length: 250 }, (_, at) => [`s-${at}`, 99]));
  expect(await deletedBy({ days: 30, bytes: 10 }, indexOf(ages), { inUse: Object.keys(ages) })).toEqual([]);
});

test("a clock that went back deletes nothing", async () => {
  expect(await deletedBy({ days: 30, bytes: 0 }, indexOf({ a: 1, b: 20 }), { now: NOW - 365 * DAY_MS })).toEqual([]);
});

test("ended sessions beyond the size go, those with a turn stay, and no request of theirs runs again", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const body = { executor: "cli-b", session_id: "session-ended", input: "hello", request_id: "request-ended" };
  const { turn_id } = await first.run(body);
  await first.admit({
    executor: "cli-b",
    session_id: "session-runs",
    input: "hello\nhang",
    request_id: "request-runs",
  });
  await waitFor("the turn to run", async () => {
    const { turns } = (await first.request("GET", "/v1/turns?status=running")).body;
    return turns[0]?.last_seq > 1;
  });
  first.kill("SIGKILL");
  await first.exited;
  const second = await fakeDaemonIn(directory, { TURND_RETENTION_BYTES: "1" });
  await waitFor(
    "the retention",
    async () => (await second.request("GET", "/v1/sessions/session-ended")).status === 404,
  );
  const repeated = await second.request("POST", "/v1/turns", body);
  expect([repeated.status, repeated.body.detail.turn_id]).toEqual([404, turn_id]);
  expect((await second.request("GET", "/v1/sessions/session-runs")).body.running_turn).toBeDefined();
  await waitFor("the metric", async () =>
    /^turnd_sessions_retired_total 1$/m.test((await second.request("GET", "/metrics")).text),
  );
  await waitFor("the directory to go", () => readdirSync(join(second.state, "sessions")).length === 1);
  await second.request("DELETE", "/v1/sessions/session-runs");
});

test.runIf(process.getuid?.() === 0)(
  "what is measured of a user's directory is no more than that user may see",
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const [session, outside] = [join(directory, "session"), join(directory, "outside")];
    const home = join(session, "home");
    for (const path of [session, outside, home]) mkdirSync(path);
    chmodSync(outside, 0o700);
    writeFileSync(join(outside, "large"), Buffer.alloc(4_000_000, 1));
    writeFileSync(join(session, "own"), Buffer.alloc(100_000, 1));
    writeFileSync(join(home, "file"), Buffer.alloc(200_000, 1));
    symlinkSync(outside, join(home, "link"));
    symlinkSync(outside, join(session, "link"));
    chownSync(home, CLI_USER.uid, CLI_USER.gid);
    const bytes = await measureDirectory(session, CLI_USER, new AbortController().signal);
    expect(bytes).toBeGreaterThan(300_000);
    expect(bytes).toBeLessThan(600_000);
    expect(await measureDirectory(join(session, "link"), CLI_USER, new AbortController().signal)).toBeUndefined();
    expect(existsSync(join(outside, "large"))).toBe(true);
  },
);
