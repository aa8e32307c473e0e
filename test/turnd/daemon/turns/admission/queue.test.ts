import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fakeDaemon, fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { sharedDaemon } from "../../../../harness/shared-daemon.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";
import type { TestDaemon } from "../../../../harness/daemon.ts";

const status = async (turnd: TestDaemon, turnId: string): Promise<string> =>
  (await turnd.request("GET", `/v1/turns/${turnId}`)).body.status;

async function ended(turnd: TestDaemon, turnIds: readonly string[]): Promise<string[]> {
  for (const turnId of turnIds) {
    for await (const frame of turnd.follow(turnId)) if (frame.event === "end") break;
  }
  const snapshots = await Promise.all(turnIds.map((id) => turnd.request("GET", `/v1/turns/${id}`)));
  return snapshots
    .map((answer) => answer.body)
    .toSorted((a, b) => (a.started_at < b.started_at ? -1 : 1))
    .map((snapshot) => snapshot.turn_id);
}

/** Waits for a turn's first word: one that runs, but has no process yet, waits again when turnd is stopped. */
async function waitForProcess(turnd: TestDaemon, turnId: string): Promise<void> {
  await waitFor("the process", async () =>
    (await turnd.events(turnId)).some((event) => event.type === "session.bound"),
  );
}

test("turns of a session run one at a time, first in first out", async () => {
  const turnd = await sharedDaemon();
  const session = { executor: "cli-b", session_id: "session-1" };
  const first = await turnd.admit({ ...session, input: "hang" });
  await waitFor("the turn to run", async () => (await status(turnd, first.turn_id)) === "running");
  const turns = [];
  for (let index = 0; index < 4; index += 1) turns.push(await turnd.admit({ ...session, input: "hello" }));
  expect(turns.map((turn) => turn.queue_position)).toEqual([1, 2, 3, 4]);
  await turnd.request("POST", `/v1/turns/${first.turn_id}/cancel`);
  const ids = turns.map((turn) => turn.turn_id);
  expect(await ended(turnd, ids)).toEqual(ids);
});

test("a session with many turns does not keep another waiting for all of them", async () => {
  const turnd = await fakeDaemon({ TURND_MAX_TURNS: "1" });
  const many = { executor: "cli-b", session_id: "session-many" };
  const first = await turnd.admit({ ...many, input: "hang" });
  await waitFor("the turn to run", async () => (await status(turnd, first.turn_id)) === "running");
  const waiting = [];
  for (let index = 0; index < 5; index += 1) waiting.push(await turnd.admit({ ...many, input: "hello" }));
  const one = await turnd.admit({ executor: "cli-b", session_id: "session-one", input: "hello" });
  await turnd.request("POST", `/v1/turns/${first.turn_id}/cancel`);
  const order = await ended(
    turnd,
    [...waiting, one].map((turn) => turn.turn_id),
  );
  expect(order[0]).toBe(one.turn_id);
});

test("reject on a busy session is a problem that names the running turn", async () => {
  const turnd = await sharedDaemon();
  const running = await turnd.admit({ executor: "cli-b", session_id: "session-1", input: "hang" });
  await waitFor("the turn to run", async () => (await status(turnd, running.turn_id)) === "running");
  const answer = await turnd.request("POST", "/v1/turns", {
    session_id: "session-1",
    input: "x",
    queue_policy: "reject",
  });
  expect([answer.status, answer.body.detail.code]).toEqual([409, "session_busy"]);
  expect(answer.body.detail.turn.turn_id).toBe(running.turn_id);
});

test("a full queue is a 429 with Retry-After, and nothing is kept of what was refused", async () => {
  const turnd = await fakeDaemon({ TURND_MAX_QUEUED: "2", TURND_MAX_TURNS: "1" });
  const session = { executor: "cli-b", session_id: "session-1" };
  const first = await turnd.admit({ ...session, input: "hang" });
  await waitFor("the turn to run", async () => (await status(turnd, first.turn_id)) === "running");
  await turnd.admit({ ...session, input: "x" });
  await turnd.admit({ ...session, input: "x" });
  const answer = await turnd.request("POST", "/v1/turns", { ...session, input: "x" });
  expect([answer.status, answer.body.detail.code]).toEqual([429, "queue_full"]);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  for (const body of [{ executor: "cli-b" }, { executor: "cli-b", session_id: "session-2" }]) {
    const other = await turnd.request("POST", "/v1/turns", { ...body, input: "x" });
    expect([other.status, other.body.detail.code]).toEqual([429, "queue_full"]);
  }
  const { sessions } = (await turnd.request("GET", "/v1/sessions")).body;
  expect(sessions.map((kept: { session_id: string }) => kept.session_id)).toEqual(["session-1"]);
});

test("cancel works on a waiting turn: one event, and the others keep their order", async () => {
  const turnd = await sharedDaemon();
  const session = { executor: "cli-b", session_id: "session-1" };
  const first = await turnd.admit({ ...session, input: "sleep 0.5" });
  const second = await turnd.admit({ ...session, input: "x" });
  const third = await turnd.admit({ ...session, input: "y" });
  const receipt = (await turnd.request("POST", `/v1/turns/${second.turn_id}/cancel`)).body;
  expect(receipt).toMatchObject({ status: "cancelled", already_ended: false, ended: [] });
  expect((await turnd.events(second.turn_id)).map((event) => event.type)).toEqual(["turn.ended"]);
  await ended(turnd, [first.turn_id, third.turn_id]);
  expect(await status(turnd, third.turn_id)).toBe("completed");
});

test("a waiting turn that is cancelled leaves the temporary files of the running one", async () => {
  const turnd = await sharedDaemon();
  const session = { executor: "cli-b", session_id: "session-1" };
  const mark = join(turnd.workspace, "kept");
  const input = `shell echo precious > $TMPDIR/work\nhello\nshell until [ -e ${mark} ]; do sleep 0.02; done\nshell cat $TMPDIR/work > ${mark}`;
  const first = await turnd.admit({ ...session, input });
  await waitFor("its file to be written", async () =>
    (await turnd.events(first.turn_id)).some((event) => event.type === "message"),
  );
  const second = await turnd.admit({ ...session, input: "x" });
  expect((await turnd.request("POST", `/v1/turns/${second.turn_id}/cancel`)).body.status).toBe("cancelled");
  writeFileSync(mark, "");
  chmodSync(mark, 0o666);
  await ended(turnd, [first.turn_id]);
  expect(readFileSync(mark, "utf8")).toBe("precious\n");
  const left = join(turnd.state, "sessions/session-1/home/tmp/work");
  await waitFor("what it left to be removed", () => !existsSync(left));
});

test("waiting turns are kept in order over a restart", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory, { TURND_MAX_TURNS: "1" });
  const session = { executor: "cli-b", session_id: "session-1" };
  const turns = [await first.admit({ ...session, input: "hang" })];
  for (let index = 0; index < 4; index += 1) turns.push(await first.admit({ ...session, input: "hello" }));
  await waitForProcess(first, turns[0]?.turn_id ?? "");
  expect(await first.stop()).toBe(0);
  const second = await fakeDaemonIn(directory, { TURND_MAX_TURNS: "1" });
  const ids = turns.map((turn) => turn.turn_id);
  expect(await ended(second, ids)).toEqual(ids);
  expect((await second.request("GET", `/v1/turns/${ids[0]}/result`)).body.failure.code).toBe("daemon_stopped");
  for (const id of ids.slice(1)) expect(await status(second, id)).toBe("completed");
});

test("what was put first in line is first again after a restart", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const session = { executor: "cli-b", session_id: "session-1" };
  const running = await first.admit({ ...session, input: "open-tool sleep\nhang" });
  await waitForProcess(first, running.turn_id);
  const waiting = await first.admit({ ...session, input: "hello" });
  const steer = await first.admit({ ...session, input: "instead", queue_policy: "steer" });
  expect(await first.stop()).toBe(0);
  const second = await fakeDaemonIn(directory);
  const ids = [running, steer, waiting].map((turn) => turn.turn_id);
  expect(await ended(second, ids)).toEqual(ids);
});

test("steer takes over at a step boundary and continues the same native session", async () => {
  const turnd = await sharedDaemon();
  const session = { executor: "cli-b", session_id: "session-1" };
  const tools = "tool next\nsleep 0.02\n".repeat(500);
  const running = await turnd.admit({ ...session, input: `hello\n${tools}` });
  await waitFor("a tool to end", async () =>
    (await turnd.events(running.turn_id)).some((event) => event.type === "tool.ended"),
  );
  const steered = await turnd.run({ session_id: "session-1", input: "instead", queue_policy: "steer" });
  const result = (await turnd.request("GET", `/v1/turns/${running.turn_id}/result`)).body;
  expect(result).toMatchObject({ status: "cancelled", cancelled_by: "steer" });
  expect(steered).toMatchObject({ status: "completed", resumed: true, native_session_id: result.native_session_id });
});

test("a turn that is steered while it prints its last output is completed, and the steer comes next", async () => {
  const turnd = await sharedDaemon();
  const session = { executor: "cli-b", session_id: "session-1" };
  const running = await turnd.admit({ ...session, input: "tool one\nsleep 1\nlast words\nsleep 0.5" });
  await waitFor("a tool to end", async () =>
    (await turnd.events(running.turn_id)).some((event) => event.type === "tool.ended"),
  );
  const waiting = await turnd.admit({ ...session, input: "later" });
  const steer = await turnd.run({ ...session, input: "instead", queue_policy: "steer" });
  expect(steer).toMatchObject({ status: "completed", output: "instead" });
  const result = (await turnd.request("GET", `/v1/turns/${running.turn_id}/result`)).body;
  expect(result).toMatchObject({ status: "completed", output: "last words" });
  expect(
    await ended(
      turnd,
      [running, steer, waiting].map((turn) => turn.turn_id),
    ),
  ).toEqual([running.turn_id, steer.turn_id, waiting.turn_id]);
});

test("a steer that meets no boundary stops the turn after the longest wait", async () => {
  const turnd = await fakeDaemon({ TURND_STEER_WAIT_MS: "300" });
  const session = { executor: "cli-b", session_id: "session-1" };
  const running = await turnd.admit({ ...session, input: "open-tool sleep\nhang" });
  await waitFor("the turn to run", async () => (await turnd.events(running.turn_id)).length >= 3);
  expect((await turnd.run({ session_id: "session-1", input: "now", queue_policy: "steer" })).status).toBe("completed");
  expect((await turnd.request("GET", `/v1/turns/${running.turn_id}/result`)).body.cancelled_by).toBe("steer");
});

test("a steer that is cancelled while it waits stops no turn, unless another one still waits", async () => {
  const turnd = await sharedDaemon();
  const mark = join(turnd.workspace, "go-on");
  const steerBy = { queue_policy: "steer", input: "instead" };
  const run = async (session_id: string, rest: string): Promise<string> => {
    const gate = `shell until [ -e ${mark} ]; do sleep 0.05; done`;
    const running = await turnd.admit({
      executor: "cli-b",
      session_id,
      input: `tool one\n${gate}\ntool two\n${rest}`,
    });
    await waitFor("its first step", async () =>
      (await turnd.events(running.turn_id)).some((event) => event.type === "tool.ended"),
    );
    const { turn_id: steer } = await turnd.admit({ session_id, ...steerBy });
    expect((await turnd.request("POST", `/v1/turns/${steer}/cancel`)).body.status).toBe("cancelled");
    return running.turn_id;
  };
  const [alone, steered] = [await run("session-1", "hello"), await run("session-2", "hang")];
  const { turn_id: other } = await turnd.admit({ session_id: "session-2", ...steerBy });
  writeFileSync(mark, "");
  await ended(turnd, [alone, steered, other]);
  expect(await status(turnd, alone)).toBe("completed");
  expect((await turnd.request("GET", `/v1/turns/${steered}/result`)).body.cancelled_by).toBe("steer");
  expect(await status(turnd, other)).toBe("completed");
});

test("a steer that waits is not lost by kill -9", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const session = { executor: "cli-b", session_id: "session-1" };
  const running = await first.admit({ ...session, input: "open-tool sleep\nhang" });
  await waitFor("the tool to start", async () =>
    (await first.events(running.turn_id)).some((event) => event.type === "tool.started"),
  );
  const steer = await first.admit({ ...session, input: "instead", queue_policy: "steer" });
  first.kill("SIGKILL");
  await first.exited;
  const second = await fakeDaemonIn(directory, { TURND_STEER_WAIT_MS: "300" });
  expect(await ended(second, [running.turn_id, steer.turn_id])).toEqual([running.turn_id, steer.turn_id]);
  expect((await second.request("GET", `/v1/turns/${running.turn_id}/result`)).body.cancelled_by).toBe("steer");
  expect(await status(second, steer.turn_id)).toBe("completed");
});

test("after kill -9 a steer waits for the next step boundary, not for one that has passed", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const session = { executor: "cli-b", session_id: "session-1" };
  const mark = join(first.workspace, "go-on");
  const item = (type: string, state: string): string =>
    `raw ${JSON.stringify({ type, item: { id: "item_9", type: "command_execution", command: "make", aggregated_output: "", exit_code: null, status: state } })}`;
  const lines = [
    "tool one",
    item("item.started", "in_progress"),
    // A stop that comes too early has a second to show.
    `shell until [ -e ${mark} ]; do sleep 1; done`,
    item("item.completed", "completed"),
    "hang",
  ];
  const running = await first.admit({ ...session, input: lines.join("\n") });
  const tools = async (turnd: TestDaemon): Promise<string[]> =>
    (await turnd.events(running.turn_id)).flatMap((event) =>
      event.type === "tool.started" || event.type === "tool.ended" ? [event.type] : [],
    );
  await waitFor("the second tool to start", async () => (await tools(first)).length === 3);
  await first.admit({ ...session, input: "instead", queue_policy: "steer" });
  first.kill("SIGKILL");
  await first.exited;
  // Longer than the test may take: the wait must not stand in for a boundary that was missed.
  const second = await fakeDaemonIn(directory, { TURND_CANCEL_GRACE_MS: "0", TURND_STEER_WAIT_MS: "300000" });
  await waitFor("what is logged to be skipped", async () =>
    /^turnd_events_skipped_total\S* [1-9]/m.test((await second.request("GET", "/metrics")).text),
  );
  writeFileSync(mark, "");
  await ended(second, [running.turn_id]);
  expect((await second.request("GET", `/v1/turns/${running.turn_id}/result`)).body.cancelled_by).toBe("steer");
  const events = await second.events(running.turn_id);
  expect(events.flatMap((event) => (event.type === "tool.ended" ? [event.data.status] : []))).toEqual([
    "completed",
    "completed",
  ]);
});

test("steers and queued turns that meet a turn's last instant are each run once", { timeout: 300_000 }, async () => {
  const turnd = await fakeDaemon({ TURND_MAX_TURNS: "8" });
  async function race(index: number): Promise<void> {
    const session = { executor: "cli-b", session_id: `session-${index}` };
    const mark = `${turnd.workspace}/ran-${index}`;
    const first = await turnd.admit({ ...session, input: `touch ${mark}-a\nhello` });
    for await (const frame of turnd.follow(first.turn_id)) if (frame.event === "message") break;
    const [steer, queued] = await Promise.all([
      turnd.run({ ...session, input: `touch ${mark}-b`, queue_policy: "steer" }),
      turnd.run({ ...session, input: `touch ${mark}-c` }),
    ]);
    expect([steer.status, queued.status]).toEqual(["completed", "completed"]);
    for (const name of ["b", "c"]) expect(readFileSync(`${mark}-${name}`, "utf8").trim().split("\n")).toHaveLength(1);
    const result = (await turnd.request("GET", `/v1/turns/${first.turn_id}/result`)).body;
    expect(result.status === "completed" || result.cancelled_by === "steer").toBe(true);
  }
  for (let round = 0; round < 2; round += 1) {
    await Promise.all(Array.from({ length: 8 }, (_, index) => race(1000 + round * 8 + index)));
  }
});

test("with no place to wait a turn that can start at once runs, and one that cannot is refused", async () => {
  const turnd = await fakeDaemon({ TURND_MAX_QUEUED: "0", TURND_MAX_TURNS: "1" });
  const one = await turnd.admit({ executor: "cli-b", session_id: "session-1", input: "hello\nhang" });
  await waitFor("its start", async () => (await turnd.events(one.turn_id)).length > 1);
  for (const body of [
    { session_id: "session-1" },
    { executor: "cli-b" },
    { session_id: "session-1", queue_policy: "steer" },
  ]) {
    const refused = await turnd.request("POST", "/v1/turns", { input: "hello", ...body });
    expect([refused.status, refused.body.detail.code]).toEqual([429, "queue_full"]);
    expect(refused.body.detail.message).toContain("TURND_MAX_QUEUED");
  }
  await turnd.request("POST", `/v1/turns/${one.turn_id}/cancel`);
  // As soon as an end is seen its place is free.
  for (let turns = 0; turns < 5; turns += 1) {
    const result = await turnd.run({ session_id: "session-1", input: "hello" });
    expect(result.status).toBe("completed");
  }
});
