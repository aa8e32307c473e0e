import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";

const REQUEST = "request-once:and.only_once";

/** A turn that has ended and whose daemon has stopped; `runs` counts how often it ran. */
async function endedTurn() {
  const directory = temporaryDirectory(onTestFinished);
  const turnd = await fakeDaemonIn(directory);
  const ran = join(turnd.workspace, "ran");
  const body = { executor: "cli-b", input: `shell printf x >> ${ran}`, request_id: REQUEST };
  const { session_id: sessionId, turn_id: turnId } = await turnd.run(body);
  await turnd.stop();
  const session = join(turnd.state, "sessions", sessionId);
  const runs = (): number => readFileSync(ran, "utf8").length;
  expect(runs()).toBe(1);
  return { directory, body, session, sessionId, turn: join(session, "turns", turnId), turnId, runs };
}

const DAMAGE: Readonly<Record<string, (path: string) => void>> = {
  missing: () => {},
  empty: (path) => writeFileSync(path, ""),
  garbage: (path) => writeFileSync(path, "\0garbage {]\n\xff\n"),
  "a directory": (path) => mkdirSync(path),
  "a file that cannot be read": (path) => symlinkSync("/proc/self/mem", path),
};

test.each(Object.entries(DAMAGE))(
  "a turn.json and a result.json that are both %s let no repeat run again",
  async (_, put) => {
    const { directory, body, turn, turnId, sessionId, runs } = await endedTurn();
    for (const name of ["turn.json", "result.json"]) {
      rmSync(join(turn, name));
      put(join(turn, name));
    }
    let turnd = await fakeDaemonIn(directory);
    const repeated = await turnd.request("POST", "/v1/turns?wait_ms=20000", body);
    expect(repeated.body.detail).toMatchObject({ code: "request_id_conflict", turn_id: turnId });
    // Others are let in: whose request it was is known.
    expect((await turnd.run({ ...body, input: "hello", request_id: "another-request" })).status).toBe("completed");
    expect((await turnd.request("DELETE", `/v1/sessions/${sessionId}`)).status).toBe(204);
    expect((await turnd.request("POST", "/v1/turns", body)).status).toBe(404);
    await turnd.stop();
    turnd = await fakeDaemonIn(directory);
    expect((await turnd.request("POST", "/v1/turns", body)).status).toBe(404);
    expect(runs()).toBe(1);
  },
);

const LOST: Readonly<Record<string, (place: { turn: string; session: string }) => void>> = {
  "all files that name it are damaged": ({ turn }) => {
    for (const name of readdirSync(turn)) {
      if (name.startsWith("request.")) rmSync(join(turn, name));
      if (name.endsWith(".json")) writeFileSync(join(turn, name), "garbage");
    }
  },
  "its directory is a file": ({ turn }) => {
    rmSync(turn, { recursive: true });
    writeFileSync(turn, "garbage");
  },
  "the turns of its session cannot be listed": ({ session }) => {
    rmSync(join(session, "turns"), { recursive: true });
    writeFileSync(join(session, "turns"), "garbage");
  },
};

test.each(Object.entries(LOST))(
  "where nothing shows whose request a turn was (%s), no new request with an id runs before its session is deleted",
  async (_, damage) => {
    const { directory, body, turn, session, sessionId, runs } = await endedTurn();
    damage({ turn, session });
    const turnd = await fakeDaemonIn(directory);
    const refused = await turnd.request("POST", "/v1/turns?wait_ms=20000", body);
    expect([refused.status, refused.body.detail.code]).toEqual([507, "storage_full"]);
    expect(refused.body.detail.message).toMatch(new RegExp(`may have run already: session ${sessionId} .* deleting`));
    expect(runs()).toBe(1);
    expect((await turnd.request("GET", `/v1/requests/${REQUEST}`)).body.detail.message).toContain("may have run");
    const { checks } = (await turnd.request("GET", "/v1/ready")).body;
    expect(checks).toContainEqual({
      name: "files",
      ok: false,
      message: expect.stringContaining("no new request with"),
    });
    expect((await turnd.run({ executor: "cli-b", input: "hello" })).status).toBe("completed");

    expect((await turnd.request("DELETE", `/v1/sessions/${sessionId}`)).status).toBe(204);
    expect(existsSync(session)).toBe(false);
    expect((await turnd.run({ ...body, input: "hello", request_id: "another-request" })).status).toBe("completed");
  },
);
