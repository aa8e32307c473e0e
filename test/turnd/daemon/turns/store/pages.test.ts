import {
  appendFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { TurnSnapshot } from "../../../../../src/turnd/protocol/index.ts";
import { openSqlite } from "../../../../../src/turnd/daemon/state-index/sqlite.ts";
import { startDaemon, type TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { fakeEnv } from "../../../../harness/fake-env.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";

/** Every page of a list, one after the other. */
async function readAll(turnd: TestDaemon, query: string, between: () => Promise<unknown> = async () => {}) {
  const pages: TurnSnapshot[][] = [];
  for (let cursor = ""; ;) {
    const { status, body } = await turnd.request("GET", `/v1/turns?${query}${cursor}`);
    expect(status).toBe(200);
    pages.push(body.turns);
    if (body.next_cursor === undefined) return pages;
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`;
    await between();
  }
}
const idsOf = (pages: readonly (readonly TurnSnapshot[])[]): string[] => pages.flat().map(({ turn_id: id }) => id);

describe("with some turns that have ended", () => {
  let turnd: TestDaemon;
  let directory = "";
  const ids: string[] = [];

  beforeAll(async () => {
    const cleanUps: (() => unknown)[] = [];
    directory = temporaryDirectory((cleanUp) => cleanUps.unshift(cleanUp));
    turnd = await startDaemon({ directory, env: fakeEnv(directory) });
    cleanUps.unshift(() => turnd.stop());
    for (const [at, input] of ["one", "two", "fail", "four", "five", "six", "seven"].entries()) {
      const session = { executor: "cli-b", session_id: `session-${at % 2}` };
      ids.unshift((await turnd.run({ ...session, input, request_id: `request-${at}` })).turn_id);
    }
    return async () => {
      for (const cleanUp of cleanUps) await cleanUp();
    };
  });

  test("pages hold each of them once, the newest first, also where turns are admitted between two pages", async () => {
    const before = idsOf(await readAll(turnd, "limit=1000"));
    expect(before.slice(-ids.length)).toEqual(ids);
    const later: string[] = [];
    const pages = await readAll(turnd, "limit=2", async () => {
      later.push((await turnd.run({ executor: "cli-b", input: "later" })).turn_id);
    });
    expect(idsOf(pages)).toEqual(before);
    expect(pages.slice(0, -1).every((page) => page.length === 2)).toBe(true);
    expect(idsOf(await readAll(turnd, "limit=1000"))).toEqual([...later.toReversed(), ...before]);
  });

  test("a session's turns and those of one status have pages of their own", async () => {
    const own = idsOf(await readAll(turnd, "session_id=session-1&limit=1"));
    expect(own).toEqual(ids.filter((_, at) => (ids.length - 1 - at) % 2 === 1));
    const session = (await turnd.request("GET", "/v1/sessions/session-1")).body;
    expect([session.turns, session.turn_count]).toEqual([own.toReversed(), own.length]);
    const completed = await readAll(turnd, "session_id=session-0&status=completed&limit=2");
    expect(completed.flat().every(({ status }) => status === "completed")).toBe(true);
    expect(idsOf(await readAll(turnd, "status=running&limit=1"))).toEqual([]);
  });

  test("a turn that runs is on the page of its status, beside those that have ended", async () => {
    const running = await turnd.admit({ executor: "cli-b", session_id: "session-runs", input: "hello\nhang" });
    try {
      expect(idsOf(await readAll(turnd, "session_id=session-runs"))).toEqual([running.turn_id]);
      const found = await readAll(turnd, "limit=1");
      expect(found[0]?.[0]).toMatchObject({ turn_id: running.turn_id });
      expect(["queued", "running"]).toContain(found[0]?.[0]?.status);
    } finally {
      await turnd.request("POST", `/v1/turns/${running.turn_id}/cancel`);
    }
    expect(idsOf(await readAll(turnd, "status=cancelled&limit=1"))).toEqual([running.turn_id]);
  });

  test("sessions have pages too, and one that is deleted between them takes no other with it", async () => {
    for (const id of ["session-x1", "session-x2", "session-x3"]) {
      await turnd.request("POST", "/v1/sessions", { executor: "cli-b", session_id: id });
    }
    const first = (await turnd.request("GET", "/v1/sessions?limit=2")).body;
    expect(first.sessions.map(({ session_id: id }: { session_id: string }) => id)).toEqual([
      "session-x3",
      "session-x2",
    ]);
    // The very one that the cursor names.
    await turnd.request("DELETE", "/v1/sessions/session-x2");
    const next = (await turnd.request("GET", `/v1/sessions?limit=1&cursor=${first.next_cursor}`)).body;
    expect(next.sessions[0].session_id).toBe("session-x1");
    const all = (await turnd.request("GET", "/v1/sessions")).body;
    expect(all.next_cursor).toBeUndefined();
    expect(all.sessions.length).toBeGreaterThan(3);
  });

  test.each(["nonsense", "", "bnVsbA", "WyJzZXNzaW9uIiwxXQ", "!!!!", "x".repeat(900)])(
    "a cursor that no page gave (%s) is refused",
    async (cursor) => {
      for (const list of ["turns", "sessions"]) {
        const { status, body } = await turnd.request("GET", `/v1/${list}?cursor=${encodeURIComponent(cursor)}`);
        expect([status, body.detail.code]).toEqual([422, "bad_cursor"]);
      }
    },
  );

  test("an ended turn is served whole after it has left the memory", async () => {
    const [id = ""] = ids.slice(-1);
    expect((await turnd.request("GET", `/v1/turns/${id}/result`)).body).toMatchObject({ output: "one" });
    expect((await turnd.request("GET", `/v1/turns/${id}/input`)).body.text).toContain("one");
    expect((await turnd.request("GET", "/v1/requests/request-0")).body.turn_id).toBe(id);
    const events = (await turnd.request("GET", `/v1/turns/${id}/events`)).text.trim().split("\n");
    const last = events.length;
    const rest = await turnd.request("GET", `/v1/turns/${id}/events?after_seq=${last - 1}`);
    expect(rest.text.trim()).toBe(events.at(-1));
  });

  /** What may become of the index while turnd is stopped; none of it may change what is served. */
  const CHANGES: Readonly<Record<string, (state: string) => void>> = {
    "nothing happens to it": () => {},
    "it is removed": (state) => rmSync(join(state, "index.db")),
    "it is of an earlier time": (state) =>
      writeFileSync(join(state, "index.db"), readFileSync(join(state, "earlier.db"))),
    "it lacks a turn": (state) => sql(state, "DELETE FROM turns WHERE request_id = 'request-0'"),
    "it lacks a session": (state) => sql(state, "DELETE FROM sessions WHERE session_id = 'session-1'"),
    "it names a turn that is not there": (state) =>
      sql(
        state,
        "INSERT INTO turns SELECT 'turn-none', session_id, 'request-none', 9999, status, ended_at, last_seq, 0, key, data FROM turns LIMIT 1",
      ),
    "it says that a turn is running": (state) =>
      sql(state, "UPDATE turns SET status = 'open' WHERE request_id = 'request-1'"),
  };
  /** The end that is logged is some milliseconds later than the decision about it. */
  const withoutEnds = ({ turns }: { turns: TurnSnapshot[] }) => turns.map((turn) => ({ ...turn, ended_at: "" }));
  function sql(state: string, statement: string): void {
    const database = openSqlite(join(state, "index.db"));
    database.exec(statement);
    database.close();
    // As a killed turnd leaves it: one that was closed is not relied upon once it has been changed.
    rmSync(join(state, "index.db-seal"));
  }

  test.each(Object.entries(CHANGES))("after a restart, where %s, everything is as it was", async (_, change) => {
    const copy = temporaryDirectory(onTestFinished);
    const earlier = await fakeDaemonIn(copy);
    await earlier.run({ executor: "cli-b", session_id: "session-1", input: "touch", request_id: "request-0" });
    await earlier.stop();
    cpSync(join(earlier.state, "index.db"), join(earlier.state, "earlier.db"));
    const second = await fakeDaemonIn(copy);
    const ran = join(second.workspace, "ran");
    const body = {
      executor: "cli-b",
      session_id: "session-2",
      input: `shell printf x >> ${ran}`,
      request_id: "request-1",
    };
    await second.run(body);
    const listed = withoutEnds((await second.request("GET", "/v1/turns")).body);
    const sessions = (await second.request("GET", "/v1/sessions")).body;
    await second.stop();
    change(second.state);
    const third = await fakeDaemonIn(copy);
    expect(withoutEnds((await third.request("GET", "/v1/turns")).body)).toEqual(listed);
    expect((await third.request("GET", "/v1/sessions")).body).toEqual(sessions);
    expect((await third.request("POST", "/v1/turns?wait_ms=20000", body)).status).toBe(200);
    expect(readFileSync(ran, "utf8")).toBe("x");
  });
});

test("a turn that ended just before kill -9 is in every list of the next start, and its request does not run again", async () => {
  const directory = temporaryDirectory(onTestFinished);
  let turnd = await fakeDaemonIn(directory);
  const ran = join(turnd.workspace, "ran");
  const known: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    const body = { executor: "cli-b", input: `shell printf ${round} >> ${ran}`, request_id: `request-${round}` };
    known.unshift((await turnd.run(body)).turn_id);
    turnd.kill("SIGKILL");
    await turnd.exited;
    turnd = await fakeDaemonIn(directory);
    expect(idsOf([(await turnd.request("GET", "/v1/turns?status=completed")).body.turns])).toEqual(known);
    expect((await turnd.request("POST", "/v1/turns", body)).body.turn_id).toBe(known[0]);
  }
  expect(readFileSync(ran, "utf8")).toBe("012");
});

test("what is restored into the state while turnd is stopped is there again, and its request does not run again", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const ran = join(first.workspace, "ran");
  const body = {
    executor: "cli-b",
    session_id: "session-1",
    input: `shell printf x >> ${ran}`,
    request_id: "request-1",
  };
  const { turn_id } = await first.run(body);
  await first.run({ executor: "cli-b", session_id: "session-1", input: "hello" });
  await first.stop();
  const [turns, aside] = [join(first.state, "sessions/session-1/turns"), join(directory, "aside")];
  renameSync(join(turns, turn_id), aside);
  const second = await fakeDaemonIn(directory);
  expect((await second.request("GET", `/v1/turns/${turn_id}`)).status).toBe(404);
  await second.stop();
  renameSync(aside, join(turns, turn_id));
  appendFileSync(join(turns, turn_id, "stderr.log"), "");
  const third = await fakeDaemonIn(directory);
  expect((await third.request("POST", "/v1/turns", body)).body.turn_id).toBe(turn_id);
  expect(readdirSync(turns)).toHaveLength(2);
  expect([existsSync(ran), readFileSync(ran, "utf8")]).toEqual([true, "x"]);
});
