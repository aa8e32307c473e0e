import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { makeHistory } from "../../../../../lab/bench/history-state.ts";
import { openSessionStore } from "../../../../../src/turnd/daemon/sessions/session-store.ts";
import { openSqlite } from "../../../../../src/turnd/daemon/state-index/sqlite.ts";
import { openStateIndex, type TurnPlace } from "../../../../../src/turnd/daemon/state-index/state-index.ts";
import { openTurnStore, type TurnStore } from "../../../../../src/turnd/daemon/turns/store/turn-store.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { CLI_USER, temporaryDirectory } from "../../../../harness/temporary.ts";

/** More sessions and turns than are compared with the index before turnd serves. */
const TURNS = 1_200;
let directory = "";

beforeAll(async () => {
  const cleanUps: (() => void)[] = [];
  directory = temporaryDirectory((cleanUp) => cleanUps.push(cleanUp));
  await makeHistory(directory, TURNS);
  return () => cleanUps.forEach((cleanUp) => cleanUp());
}, 120_000);

const state = (): string => join(directory, "state");
const turnsOf = (session: string): string => join(state(), "sessions", session, "turns");

interface Opened {
  readonly store: TurnStore;
  /** When all is compared. */
  close(): Promise<void>;
}

/** Opens the turns, as a start does. */
async function open(): Promise<Opened> {
  const index = openStateIndex({
    path: join(state(), "index.db"),
    sessionsDirectory: join(state(), "sessions"),
    onFault: (error) => expect.unreachable(String(error)),
  });
  const sessions = await openSessionStore({
    stateDirectory: state(),
    index,
    owner: CLI_USER,
    removeTree: async () => undefined,
    removeWorkspace: async () => undefined,
    onUnreadable: () => undefined,
    onExposed: () => undefined,
    onLeft: () => undefined,
  });
  const store = await openTurnStore({
    sessions,
    index,
    steerWaitMs: 0,
    onUnsaved: () => undefined,
    onUnreadable: () => undefined,
    onIndexing: () => undefined,
    onCut: () => undefined,
  });
  return {
    store,
    async close() {
      await store.checked;
      index.close();
    },
  };
}

/** What is asked of it at once is asked while its turns are compared. */
async function openStore(): Promise<TurnStore> {
  const { store, close } = await open();
  onTestFinished(close);
  return store;
}

/** Its index is complete, and nothing has been changed since. */
async function complete(): Promise<void> {
  await (await open()).close();
}

interface Asked {
  readonly session?: string;
  readonly request?: string;
}

/** @returns whether it can be let in while the comparison goes on */
async function isLetIn(store: TurnStore, { session, request }: Asked): Promise<boolean> {
  const isAsIndexed = await store.isAsIndexed({ sessionId: session, requestId: request });
  expect(store.isChecked()).toBe(false);
  return isAsIndexed;
}

test("a request is let in as soon as it is known which turns there are", { timeout: 60_000 }, async () => {
  await complete();
  const store = await openStore();
  expect(await isLetIn(store, {})).toBe(true);
  expect(await isLetIn(store, { request: "request-of-now" })).toBe(true);
  expect(await isLetIn(store, { request: "request-00000050", session: "session-00000005" })).toBe(true);
  expect(store.findRequest("request-00000050")?.file.session_id).toBe("session-00000005");
  expect(await isLetIn(store, { session: "session-of-now", request: "request-of-now" })).toBe(true);
  await store.checked;
  expect(await store.isAsIndexed({ sessionId: undefined, requestId: undefined })).toBe(false);
});

test("where a session or a turn was changed, its own requests alone wait", { timeout: 60_000 }, async () => {
  await complete();
  const file = join(turnsOf("session-00000009"), "../session.json");
  writeFileSync(file, readFileSync(file));
  const turn = join(turnsOf("session-00000011"), readdirSync(turnsOf("session-00000011"))[0] ?? "", "turn.json");
  writeFileSync(turn, readFileSync(turn));
  const { request_id: changed } = JSON.parse(readFileSync(turn, "utf8"));
  const store = await openStore();
  expect(await isLetIn(store, { session: "session-00000009" })).toBe(false);
  expect(await isLetIn(store, { session: "session-00000011" })).toBe(false);
  expect(await isLetIn(store, { request: changed })).toBe(false);
  expect(await isLetIn(store, { session: "session-00000012", request: "request-of-now" })).toBe(true);
  await store.checked;
  expect(store.findRequest(changed)?.file.session_id).toBe("session-00000011");
});

/** Every page of a list, one after the other. @returns the ids of its turns */
function readPages(store: TurnStore, limit: number): string[] {
  const ids: string[] = [];
  for (let before: TurnPlace | undefined; ;) {
    const { turns, next } = store.page({ limit, before });
    ids.push(...turns.map(({ file }) => file.turn_id));
    expect(turns.length).toBeLessThanOrEqual(limit);
    if (next === undefined) return ids;
    before = next;
  }
}

test("a turn that is to be read again cuts no list short", { timeout: 60_000 }, async () => {
  await complete();
  const unchanged = await open();
  await unchanged.store.checked;
  const all = readPages(unchanged.store, 1_000);
  await unchanged.close();
  expect(all).toHaveLength(TURNS);
  // The newest session's turns, and one of another.
  const changed = ["session-00000119", "session-00000100"].flatMap((session) =>
    readdirSync(turnsOf(session))
      .slice(session === "session-00000100" ? -1 : 0)
      .map((id) => join(turnsOf(session), id, "turn.json")),
  );
  for (const file of changed) writeFileSync(file, readFileSync(file));
  const store = await openStore();
  const shown = readPages(store, 5);
  expect(store.isChecked()).toBe(false);
  expect(shown).toEqual(all.filter((id) => !changed.some((file) => file.includes(id))));
  await store.checked;
  expect(readPages(store, 5)).toEqual(all);
});

test("a turn that is being admitted cuts no list short", { timeout: 60_000 }, async () => {
  await complete();
  const store = await openStore();
  await store.checked;
  const all = readPages(store, 1_000);
  const [newest = ""] = all;
  const file = store.get(newest)?.file;
  if (file === undefined) throw new Error("no turn");
  const id = `${newest.slice(0, -8)}88888888`;
  const added = store.add({ ...file, turn_id: id, request_id: "request-of-now", order: store.nextOrder() }, []);
  onTestFinished(async () => {
    const { directory: own } = await added;
    rmSync(own, { recursive: true });
  });
  // Before any of it is on the disk.
  expect(readPages(store, 100)).toEqual(all);
  await added;
  expect(readPages(store, 100)).toEqual([id, ...all]);
});

/** Turns that the index does not have: a request of theirs may be any. */
const UNKNOWN: Readonly<Record<string, () => void>> = {
  "in a session that it has"() {
    const [id = ""] = readdirSync(turnsOf("session-00000020"));
    const copy = `${id.slice(0, -8)}99999999`;
    cpSync(join(turnsOf("session-00000020"), id), join(turnsOf("session-00000020"), copy), { recursive: true });
    onTestFinished(() => rmSync(join(turnsOf("session-00000020"), copy), { recursive: true }));
  },
  "in a session that it does not have"() {
    mkdirSync(turnsOf("session-unknown"), { recursive: true });
    onTestFinished(() => rmSync(join(turnsOf("session-unknown"), ".."), { recursive: true }));
  },
  "since a row was lost"() {
    changeIndex("DELETE FROM turns WHERE request_id = 'request-00000300'");
  },
  "since a session's row was lost"() {
    changeIndex("DELETE FROM turns WHERE session_id = 'session-00000031'");
    changeIndex("DELETE FROM sessions WHERE session_id = 'session-00000031'");
  },
};

/** As if turnd had been killed before a row was there: an index that it has closed is not relied upon once it has been changed. */
function changeIndex(statement: string): void {
  const path = join(state(), "index.db");
  const index = openSqlite(path);
  index.exec(statement);
  index.close();
  rmSync(`${path}-seal`, { force: true });
}

test.each(Object.entries(UNKNOWN))(
  "where there are turns that the index does not have, %s, every request waits",
  { timeout: 60_000 },
  async (_, change) => {
    await complete();
    change();
    const store = await openStore();
    const asked = [{}, { request: "request-of-now" }, { session: "session-00000001" }];
    expect(await Promise.all(asked.map((each) => isLetIn(store, each)))).toEqual([false, false, false]);
    await store.checked;
    expect(store.findRequest("request-00000300")).toBeDefined();
    expect(store.findRequest("request-00000310")?.file.session_id).toBe("session-00000031");
  },
);

test("turns that are let in meanwhile, in old and in new sessions, are there once", { timeout: 120_000 }, async () => {
  await complete();
  const sessions = ["session-00000000", "session-00000060", "session-00000119", "session-new-1", "session-new-2"];
  const ids = new Set<string>();
  for (let start = 0; start < 2; start += 1) {
    const turnd = await fakeDaemonIn(directory);
    const asked = sessions.flatMap((session_id) => [1, 2].map((at) => ({ session_id, at })));
    const ended = await Promise.all(
      asked.map(({ session_id, at }) =>
        turnd.run({ executor: "cli-b", session_id, input: "hello", request_id: `${session_id}-request-${at}` }),
      ),
    );
    expect(ended.map(({ status }) => status)).toEqual(ended.map(() => "completed"));
    for (const { turn_id } of ended) ids.add(turn_id);
    const { turns } = (await turnd.request("GET", "/v1/turns?limit=11")).body;
    // The second start has the same requests: none of them runs again.
    expect(new Set(turns.slice(0, 10).map((turn: { turn_id: string }) => turn.turn_id))).toEqual(ids);
    const counts = sessions.map(async (id) => (await turnd.request("GET", `/v1/sessions/${id}`)).body.turn_count);
    expect(await Promise.all(counts)).toEqual([12, 12, 12, 2, 2]);
    await turnd.stop();
  }
});
