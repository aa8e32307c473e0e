import { randomBytes } from "node:crypto";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { execa, execaSync } from "execa";
import { describe, expect, onTestFinished, test } from "vitest";
import { openSqlite } from "../../../../src/turnd/daemon/state-index/sqlite.ts";
import type { TurnRow } from "../../../../src/turnd/daemon/state-index/rows.ts";
import { openStateIndex, type StateIndex } from "../../../../src/turnd/daemon/state-index/state-index.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";

interface Place {
  readonly path: string;
  readonly sessionsDirectory: string;
}

function newPlace(): Place {
  const directory = temporaryDirectory(onTestFinished);
  mkdirSync(join(directory, "sessions"));
  return { path: join(directory, "index.db"), sessionsDirectory: join(directory, "sessions") };
}

function openAt(place: Place, bootId = "boot-1"): StateIndex & { readonly faults: unknown[] } {
  const faults: unknown[] = [];
  return { ...openStateIndex({ ...place, bootId, onFault: (error) => faults.push(error) }), faults };
}

const turn = (place: number, sessionId = "session-1"): TurnRow => ({
  turn_id: `turn-${place}`,
  session_id: sessionId,
  request_id: `request-${place}`,
  place,
  status: place % 3 === 0 ? "failed" : "completed",
  ended_at: "2026-11-22T08:00:00.000Z",
  last_seq: place,
  has_secrets: false,
  key: `key-${place}`,
  data: "{}",
});

/** An index with a session and some turns, as a turnd that was stopped has left it. */
function filled(turns = 5): Place {
  const place = newPlace();
  const index = openAt(place);
  fill(index, turns);
  index.close();
  return place;
}

function fill(index: StateIndex, turns: number): void {
  index.putSession({ session_id: "session-1", created_at: "2026-11-22T08:00:00.000Z", key: "key", data: "{}" });
  for (let at = 1; at <= turns; at += 1) index.putTurn(turn(at));
  index.complete();
}

test("what was kept is there again, and can be read by its owner alone", () => {
  const place = filled();
  const index = openAt(place);
  expect([index.outdated, index.count()]).toEqual([undefined, { sessions: 1, turns: 5 }]);
  expect(index.turnOfRequest("request-3")).toEqual(turn(3));
  expect(execaSync("stat", ["-c", "%a", place.path]).stdout).toBe("600");
  index.close();
});

/** Whatever may stand in the place of the index. */
const WRONG: Readonly<Record<string, (place: Place) => void>> = {
  missing: ({ path }) => execaSync("rm", [path]),
  empty: ({ path }) => truncateSync(path, 0),
  "cut in half": ({ path }) => truncateSync(path, Math.floor(readFileSync(path).length / 2)),
  garbage: ({ path }) => writeFileSync(path, "\0garbage".repeat(4_000)),
  "a directory": ({ path }) => execaSync("sh", ["-c", `rm ${path}; mkdir -p ${path}/inner`]),
  "a dangling link": ({ path }) => {
    execaSync("rm", [path]);
    symlinkSync("/nowhere/at/all", path);
  },
  "a link to another file": ({ path }) => {
    execaSync("mv", [path, `${path}.elsewhere`]);
    symlinkSync(`${path}.elsewhere`, path);
  },
  "a pipe": ({ path }) => execaSync("sh", ["-c", `rm ${path}; mkfifo ${path}`]),
  "a directory where its log belongs": ({ path }) => mkdirSync(`${path}-wal`),
  "another program's database": ({ path }) => change(path, "PRAGMA application_id = 1"),
  "of an earlier version": ({ path }) => change(path, "PRAGMA user_version = 0"),
  "of a later version": ({ path }) => change(path, "PRAGMA user_version = 99"),
  "without a table": ({ path }) => change(path, "DROP TABLE meta"),
  "cut off by one page": ({ path }) => truncateSync(path, readFileSync(path).length - PAGE_BYTES),
  "changed by another program": ({ path }) => change(path, "UPDATE turns SET request_id = 'other' WHERE place = 3"),
  "beside the log of another one": ({ path }) => writeFileSync(`${path}-wal`, logOfAnother()),
  "never completed": ({ path }) => change(path, "DELETE FROM meta WHERE name = 'complete'"),
};

const PAGE_BYTES = 4_096;

/** What a turnd that is killed leaves beside its index. */
function logOfAnother(): Buffer {
  const place = filled();
  const index = openAt(place);
  for (let at = 1; at <= 9; at += 1) index.putTurn({ ...turn(at), request_id: `another-${at}` });
  const log = readFileSync(`${place.path}-wal`);
  index.close();
  return log;
}

function change(path: string, sql: string): void {
  const database = openSqlite(path);
  database.exec(sql);
  database.close();
}

describe.each(Object.entries(WRONG))("an index that is %s", (_, put) => {
  test("is not relied upon; an empty one on the disk takes its place", () => {
    const place = filled();
    put(place);
    const index = openAt(place);
    expect(index.outdated).toBeDefined();
    expect([index.count(), index.isOnDisk(), index.faults]).toEqual([{ sessions: 0, turns: 0 }, true, []]);
    fill(index, 2);
    index.close();
    const next = openAt(place);
    expect([next.outdated, next.count().turns]).toEqual([undefined, 2]);
    next.close();
  });
});

test("an index from another state directory is not relied upon", () => {
  const [one, other] = [filled(), filled()];
  cpSync(one.path, other.path);
  rmSync(`${other.path}-seal`);
  const index = openAt(other);
  expect([index.outdated, index.count().turns]).toEqual(["it came from another place", 0]);
  index.close();
});

test("an index that was open when the machine stopped is not relied upon; one that was closed is", () => {
  const place = filled();
  const closed = openAt(place, "boot-2");
  expect(closed.outdated).toBeUndefined();
  closed.putTurn(turn(6));
  // As turnd leaves it that is killed.
  const left = temporaryDirectory(onTestFinished);
  execaSync("cp", [place.path, `${place.path}-wal`, left]);
  closed.close();
  const after = (bootId: string): StateIndex => {
    execaSync("sh", ["-c", `rm -f ${place.path}*; cp ${left}/* ${join(place.path, "..")}`]);
    return openAt(place, bootId);
  };
  const killed = after("boot-2");
  expect([killed.outdated, killed.count().turns]).toEqual([undefined, 6]);
  killed.close();
  const cut = after("boot-3");
  expect([cut.outdated, cut.count().turns]).toEqual(["the machine stopped while it was open", 0]);
  cut.close();
});

/** As a turnd leaves it that is killed, and as one that is stopped does. */
describe.each(["killed", "stopped"])("an index of which a page is damaged after turnd was %s", (how) => {
  test("is not relied upon where that can be seen, and otherwise holds what it held", () => {
    const place = filled(200);
    const whole = readFileSync(place.path);
    const all = Array.from({ length: 200 }, (_, at) => at + 1);
    for (let at = 0; at < whole.length; at += PAGE_BYTES) {
      for (const damaged of [Buffer.alloc(PAGE_BYTES), whole.subarray(0, PAGE_BYTES), randomBytes(PAGE_BYTES)]) {
        const bytes = Buffer.from(whole);
        damaged.copy(bytes, at);
        writeFileSync(place.path, bytes);
        if (how === "killed") rmSync(`${place.path}-seal`, { force: true });
        const index = openAt(place);
        expect(index.faults).toEqual([]);
        const known = all.filter((number) => index.turnOfRequest(`request-${number}`)?.turn_id === `turn-${number}`);
        expect(known.length).toBe(index.outdated === undefined ? 200 : 0);
        expect(index.pageTurns({ limit: 300 })).toHaveLength(known.length);
        index.close();
      }
    }
  });
});

test("wherever its log breaks off, it is as it was after one of its changes", () => {
  const place = filled(0);
  const index = openAt(place);
  for (let at = 1; at <= 6; at += 1) index.putTurn(turn(at));
  const [file, log] = [readFileSync(place.path), readFileSync(`${place.path}-wal`)];
  index.close();
  const seen = new Set<number>();
  for (let size = 0; size <= log.length; size += 997) {
    writeFileSync(place.path, file);
    writeFileSync(`${place.path}-wal`, log.subarray(0, size));
    rmSync(`${place.path}-seal`, { force: true });
    const cut = openAt(place);
    expect([size, cut.outdated]).toEqual([size, undefined]);
    const { turns } = cut.count();
    for (let at = 1; at <= turns; at += 1) expect(cut.turn(`turn-${at}`)).toEqual(turn(at));
    seen.add(turns);
    cut.close();
  }
  expect(seen.size).toBeGreaterThan(3);
});

describe.skipIf(process.getuid?.() !== 0)("on a disk that takes no more", () => {
  test("it goes on in memory with all that it knew, and what is left on the disk is not relied upon", async () => {
    const disk = join(temporaryDirectory(onTestFinished), "disk");
    mkdirSync(disk);
    await execa("mount", ["-t", "tmpfs", "-o", "size=400k", "turnd-test", disk]);
    onTestFinished(async () => void (await execa("umount", ["--lazy", disk])));
    mkdirSync(join(disk, "sessions"));
    const place = { path: join(disk, "index.db"), sessionsDirectory: join(disk, "sessions") };
    const index = openAt(place);
    for (let at = 1; at <= 2_000; at += 1) index.putTurn({ ...turn(at), data: JSON.stringify("x".repeat(500)) });
    expect([index.isOnDisk(), index.faults.length, index.count().turns]).toEqual([false, 1, 2_000]);
    expect(index.pageTurns({ limit: 2 }).map(({ place: at }) => at)).toEqual([2_000, 1_999]);
    index.forgetSession("session-1");
    expect(index.count().turns).toBe(0);
    index.close();
    const next = openAt(place);
    expect([next.outdated === undefined, next.count().turns]).toEqual([false, 0]);
    next.close();
  });

  test("a state that can only be read has its index in memory", async () => {
    const { path, sessionsDirectory } = filled();
    const directory = join(path, "..");
    await execa("mount", ["--bind", directory, directory]);
    onTestFinished(async () => void (await execa("umount", ["--lazy", directory])));
    await execa("mount", ["-o", "remount,bind,ro", directory]);
    const index = openAt({ path, sessionsDirectory });
    fill(index, 3);
    expect([index.isOnDisk(), index.count().turns]).toEqual([false, 3]);
    index.close();
  });
});

test("pages hold every turn once, newest first, whatever is added or deleted between them", () => {
  const index = openAt(newPlace());
  for (let at = 1; at <= 50; at += 1) index.putTurn(turn(at, at % 2 === 0 ? "session-even" : "session-odd"));
  const seen: number[] = [];
  let before: { place: number; turnId: string } | undefined;
  for (;;) {
    const page = index.pageTurns({ before, limit: 7 });
    const last = page.at(-1);
    if (last === undefined) break;
    seen.push(...page.map(({ place }) => place));
    before = { place: last.place, turnId: last.turn_id };
    // The very one that the cursor names goes too.
    index.forgetTurn(last.turn_id);
    index.putTurn(turn(1_000 + seen.length));
  }
  expect(seen).toEqual(Array.from({ length: 50 }, (_, at) => 50 - at));
  expect(
    index.pageTurns({ sessionId: "session-odd", status: "failed", limit: 100 }).every(({ place }) => place % 6 === 3),
  ).toBe(true);
  index.close();
});

test("no other user reads any file of an index, whatever the umask, nor one that an earlier version left open", () => {
  const before = process.umask(0o022);
  try {
    const place = filled();
    const files = (): string[] => readdirSync(dirname(place.path)).filter((name) => name.startsWith("index.db"));
    const open = (): string[] =>
      files().filter((name) => (statSync(join(dirname(place.path), name)).mode & 0o077) !== 0);
    expect(open()).toEqual([]);
    chmodSync(place.path, 0o666);
    const index = openAt(place);
    index.putTurn(turn(9));
    expect(files()).toContain("index.db-wal");
    expect(open()).toEqual([]);
    index.close();
    expect([files(), open()]).toEqual([["index.db", "index.db-seal"], []]);
  } finally {
    process.umask(before);
  }
});

test("turns with one place, as two states that were put together have them, are each on a page", () => {
  const index = openAt(newPlace());
  for (const name of ["a", "b", "c", "d"]) index.putTurn({ ...turn(1), turn_id: name, request_id: `request-${name}` });
  const first = index.pageTurns({ limit: 2 });
  const second = index.pageTurns({ limit: 2, before: { place: 1, turnId: first[1]?.turn_id ?? "" } });
  expect([...first, ...second].map(({ turn_id }) => turn_id)).toEqual(["d", "c", "b", "a"]);
  index.close();
});

test("a change of several rows that fails leaves none of them", () => {
  const index = openAt(newPlace());
  expect(() =>
    index.atOnce(() => {
      index.putTurn(turn(1));
      throw new Error("in between");
    }),
  ).toThrow("in between");
  expect(index.count().turns).toBe(0);
  index.close();
});

test("a directory that cannot be made leaves the index in memory", () => {
  const directory = temporaryDirectory(onTestFinished);
  chmodSync(directory, 0o700);
  const index = openAt({ path: join(directory, "gone/index.db"), sessionsDirectory: join(directory, "gone/sessions") });
  expect(index.isOnDisk()).toBe(false);
  fill(index, 1);
  expect(index.count().turns).toBe(1);
  index.close();
});
