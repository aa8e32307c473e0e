import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { measureDirectory } from "../../../../../src/turnd/daemon/process/user-files/measure-directory.ts";
import { createMemoryIndex, type StateIndex } from "../../../../../src/turnd/daemon/state-index/state-index.ts";
import { startRetention, type RetentionLimits } from "../../../../../src/turnd/daemon/turns/store/retention.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { CLI_USER, temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

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

interface RetentionStage {
  readonly inUse?: readonly string[];
  readonly now?: number;
  /** Of sessions that do not take 100 bytes. */
  readonly sizes?: Readonly<Record<string, number>>;
}

/** What a retention deletes, in its order. */
async function deletedBy(
  limits: Partial<RetentionLimits>,
  index: StateIndex,
  { inUse = [], now = NOW, sizes = {} }: RetentionStage = {},
): Promise<string[]> {
  const deleted: string[] = [];
  const retention = startRetention({
    index,
    limits: { days: 0, bytes: 0, sessionBytes: 0, ...limits },
    isInUse: (id) => inUse.includes(id),
    monotonicMs: () => 0,
    async deleteIdle(id) {
      if (inUse.includes(id)) return false;
      deleted.push(id);
      index.forgetSession(id);
      return true;
    },
    measure: async (id) => sizes[id] ?? 100,
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

test("a session that takes more than its share is deleted first, and while it is in use costs no other its history", async () => {
  const ages = { a: 9, b: 8, c: 7, greedy: 1 };
  const sizes = { greedy: 10_000 };
  expect(await deletedBy({ bytes: 1_000 }, indexOf(ages), { sizes, inUse: ["greedy"] })).toEqual([]);
  expect(await deletedBy({ bytes: 1_000 }, indexOf(ages), { sizes })).toEqual(["greedy"]);
  // Its share is a setting; what is still too much goes by age.
  const limits = { bytes: 400, sessionBytes: 200 };
  expect(await deletedBy(limits, indexOf(ages), { sizes, inUse: ["greedy"] })).toEqual(["a"]);
  expect(await deletedBy({ bytes: 350 }, indexOf({ ...ages, d: 10 }), { sizes })).toEqual(["greedy", "d"]);
});

test("nothing is deleted where all that may be would not bring the total below the limit", async () => {
  const inUse = ["x", "y", "z", "w", "v"];
  const ages = { a: 9, ...Object.fromEntries(inUse.map((id) => [id, 1])) };
  const sizes = Object.fromEntries(inUse.map((id) => [id, 5_000]));
  expect(await deletedBy({ bytes: 1_000 }, indexOf(ages), { sizes, inUse })).toEqual([]);
  // What takes nothing brings nothing.
  expect(await deletedBy({ bytes: 150 }, indexOf({ empty: 9, b: 8, c: 7 }), { sizes: { empty: 0 } })).toEqual(["b"]);
});

test("a clock that is 40 days ahead deletes nothing until it has run for a day, over restarts too", async () => {
  const index = indexOf({ old: 20, new: 0.1 });
  const deleted: string[] = [];
  let [at, ticks] = [NOW, 0];
  const start = () =>
    startRetention({
      index,
      limits: { days: 30, bytes: 0, sessionBytes: 0 },
      isInUse: () => false,
      async deleteIdle(id) {
        deleted.push(id);
        index.forgetSession(id);
        return true;
      },
      measure: async () => 100,
      now: () => new Date(at),
      monotonicMs: () => ticks,
      observer: { sessionRetired: () => undefined },
      logger: pino({ level: "silent" }),
    });
  const first = start();
  await first.runOnce();
  // While it runs.
  at += 40 * DAY_MS;
  await first.runOnce();
  await first.stop();
  const second = start();
  await second.runOnce();
  [at, ticks] = [at + 0.6 * DAY_MS, ticks + 0.6 * DAY_MS];
  await second.runOnce();
  // Set right, and ahead again at the next start.
  at -= 40 * DAY_MS;
  await second.runOnce();
  await second.stop();
  at += 40 * DAY_MS;
  const third = start();
  await third.runOnce();
  [at, ticks] = [at + 0.6 * DAY_MS, ticks + 0.6 * DAY_MS];
  await third.runOnce();
  expect(deleted).toEqual([]);
  [at, ticks] = [at + 0.5 * DAY_MS, ticks + 0.5 * DAY_MS];
  await third.runOnce();
  expect(deleted).toEqual(["old", "new"]);
  await third.stop();
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
