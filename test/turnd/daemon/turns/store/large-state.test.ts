import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { makeHistory } from "../../../../../lab/bench/history-state.ts";
import { openSqlite } from "../../../../../src/turnd/daemon/state-index/sqlite.ts";
import type { TurnSnapshot } from "../../../../../src/turnd/protocol/index.ts";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

/** More sessions and turns than are compared with the index before turnd serves. */
const TURNS = 1_200;
let directory = "";

beforeAll(async () => {
  const cleanUps: (() => void)[] = [];
  directory = temporaryDirectory((cleanUp) => cleanUps.push(cleanUp));
  await makeHistory(directory, TURNS);
  return () => cleanUps.forEach((cleanUp) => cleanUp());
}, 120_000);

/** Starts and stops a daemon: its index is complete. @returns the directory of the sessions */
async function indexed(): Promise<string> {
  const turnd = await fakeDaemonIn(directory);
  expect((await turnd.request("GET", "/v1/turns?limit=1000")).body.turns).toHaveLength(1_000);
  await turnd.stop();
  return join(turnd.state, "sessions");
}

async function countTurns(turnd: TestDaemon): Promise<number> {
  let count = 0;
  for (let cursor = ""; ;) {
    const { turns, next_cursor: next } = (await turnd.request("GET", `/v1/turns?limit=500${cursor}`)).body;
    count += turns.length;
    if (next === undefined) return count;
    cursor = `&cursor=${next}`;
  }
}

test("what was changed in a large state is found before anything is let in", { timeout: 120_000 }, async () => {
  const sessions = await indexed();
  const [removed, damaged, restored] = ["session-00000003", "session-00000005", "session-00000007"];
  const turnOf = (session: string): string =>
    join(sessions, session, "turns", readdirSync(join(sessions, session, "turns"))[0] ?? "");
  const [gone, garbage, aside] = [turnOf(removed), turnOf(damaged), join(directory, "aside")];
  rmSync(gone, { recursive: true });
  writeFileSync(join(garbage, "turn.json"), "garbage");
  renameSync(join(sessions, restored), aside);

  const second = await fakeDaemonIn(directory);
  // Asked at once, while the comparison may still run.
  const [first] = await Promise.all([
    second.request("GET", `/v1/turns/${garbage.split("/").at(-1)}`),
    second.request("GET", "/v1/turns"),
  ]);
  expect([first.status, first.body.detail.code]).toEqual([404, "turn_not_found"]);
  const repeated = await second.request("POST", "/v1/turns", {
    executor: "cli-b",
    input: "hello",
    request_id: "request-00000050",
  });
  expect([repeated.status, repeated.body.detail.code]).toEqual([409, "request_id_conflict"]);
  // One is gone, one cannot be read, ten are elsewhere.
  expect(await countTurns(second)).toBe(TURNS - 12);
  expect((await second.request("GET", `/v1/sessions/${restored}`)).status).toBe(404);
  await second.stop();

  renameSync(aside, join(sessions, restored));
  const third = await fakeDaemonIn(directory);
  const again = await third.request("POST", "/v1/turns", {
    executor: "cli-b",
    input: "x",
    request_id: "request-00000075",
  });
  expect([again.status, again.body.detail.code]).toEqual([409, "request_id_conflict"]);
  expect(await countTurns(third)).toBe(TURNS - 2);
});

test(
  "what is not as the index has it is waited for, and neither denied nor made up",
  { timeout: 120_000 },
  async () => {
    const sessions = await indexed();
    const [restored, gone, aside] = ["session-00000017", "session-00000019", join(directory, "aside-too")];
    renameSync(join(sessions, restored), aside);
    // It forgets the session.
    const first = await fakeDaemonIn(directory);
    await first.request("DELETE", "/v1/sessions/session-none");
    await first.stop();
    renameSync(aside, join(sessions, restored));
    renameSync(join(sessions, gone), aside);
    const [touched = ""] = readdirSync(join(sessions, "session-00000018", "turns"));
    const file = join(sessions, "session-00000018", "turns", touched, "turn.json");
    writeFileSync(file, readFileSync(file));

    const turnd = await fakeDaemonIn(directory);
    onTestFinished(() => renameSync(aside, join(sessions, gone)));
    // All at once, while the comparison may still run.
    const asked = [
      ["GET", `/v1/sessions/${restored}`],
      ["GET", `/v1/turns/${touched}`],
      ["GET", `/v1/turns/${touched}/result`],
      ["GET", "/v1/requests/request-00000175"],
      ["POST", "/v1/turns", { session_id: restored, input: "hello" }],
      ["GET", `/v1/sessions/${gone}`],
      ["GET", "/v1/sessions?limit=1000"],
    ] as const;
    const answers = await Promise.all(asked.map(([method, path, body]) => turnd.request(method, path, body)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 202, 404, 200]);
    const listed = answers.at(-1)?.body.sessions.map(({ session_id: id }: { session_id: string }) => id);
    expect(listed).not.toContain(gone);
    expect((await turnd.request("GET", `/v1/sessions/${restored}`)).body.turn_count).toBe(11);
  },
);

test.each([
  ["as it was", ""],
  ["without the turn's row", "DELETE FROM turns WHERE status = 'open'"],
])(
  "a turn that runs at kill -9 goes on in a large state whose index is %s",
  { timeout: 120_000 },
  async (_, change) => {
    await indexed();
    const first = await fakeDaemonIn(directory);
    const { turn_id: id } = await first.admit({ executor: "cli-b", session_id: "session-runs", input: "hello\nhang" });
    first.kill("SIGKILL");
    await first.exited;
    const index = openSqlite(join(first.state, "index.db"));
    index.exec(change);
    index.close();
    const second = await fakeDaemonIn(directory);
    const found = await waitFor("the turn", async () => {
      const { status, body } = await second.request("GET", `/v1/turns/${id}`);
      return status === 200 && body;
    });
    expect(["queued", "running"]).toContain(found.status);
    expect((await second.request("POST", `/v1/turns/${id}/cancel`)).body.status).toBe("cancelled");
    expect((await second.run({ executor: "cli-b", session_id: "session-runs", input: "again" })).status).toBe(
      "completed",
    );
  },
);

test("five hundred clients that list while turns end see each ended turn once", { timeout: 120_000 }, async () => {
  await indexed();
  const turnd = await fakeDaemonIn(directory);
  // When it is admitted, the directories have been compared.
  await turnd.run({ executor: "cli-b", input: "hello" });
  const before = await countTurns(turnd);
  const running = Array.from({ length: 12 }, (_, at) => turnd.run({ executor: "cli-b", input: `hello ${at}` }));
  const lists = await Promise.all(
    Array.from({ length: 500 }, async (_, at) => {
      const { status, body } = await turnd.request(
        "GET",
        `/v1/turns?limit=50${at % 2 === 0 ? "" : "&status=completed"}`,
      );
      expect(status).toBe(200);
      const ids = body.turns.map(({ turn_id }: TurnSnapshot) => turn_id);
      return new Set(ids).size === ids.length;
    }),
  );
  expect(lists.every(Boolean)).toBe(true);
  const ended = await Promise.all(running);
  expect(ended.every(({ status }) => status === "completed")).toBe(true);
  expect(await countTurns(turnd)).toBe(before + ended.length);
});
