import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { TestDaemon } from "../harness/daemon.ts";
import { fakeDaemon, fakeDaemonIn } from "../harness/fake-daemon.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

/** A session with one turn, whose native state is then lost. */
async function lostSession(): Promise<{ turnd: TestDaemon; native: string | undefined; home: string }> {
  const turnd = await fakeDaemon();
  const first = await turnd.run({ executor: "cli-b", session_id: "session-1", input: "the first question" });
  const home = join(turnd.state, "sessions/session-1/home");
  for (const name of readdirSync(join(home, "fake-cli-b"))) {
    if (name.startsWith("thread-")) rmSync(join(home, "fake-cli-b", name));
  }
  return { turnd, native: first.native_session_id, home };
}

test("a lost native session goes on in a fresh one that is given the history, and says so first", async () => {
  const { turnd, native } = await lostSession();
  const second = await turnd.run({ session_id: "session-1", input: "prompt" });
  expect(second).toMatchObject({ status: "completed", resumed: false, degraded: true });
  expect(second.native_session_id).not.toBe(native);
  const events = await turnd.events(second.turn_id);
  expect(events.map((event) => event.type).slice(0, 3)).toEqual(["turn.started", "session.degraded", "session.bound"]);
  expect(events[1]?.data).toMatchObject({ code: "resume_degraded", requested: native });
  expect(second.output).toContain("<history>");
  expect(second.output).toContain("the first question");
  const directory = join(turnd.state, "sessions/session-1/turns", second.turn_id);
  for (const name of ["resume.exit.json", "resume.stdout.jsonl", "resume.stderr.log", "resume.started"]) {
    expect(existsSync(join(directory, name)), name).toBe(true);
  }
  expect(readFileSync(join(directory, "input.txt"), "utf8")).toBe("prompt");
  const third = await turnd.run({ session_id: "session-1", input: "again" });
  expect(third).toMatchObject({ resumed: true, degraded: false, native_session_id: second.native_session_id });
});

test("with resume_policy fail the turn fails as resume_degraded and nothing is executed", async () => {
  const { turnd } = await lostSession();
  const result = await turnd.run({
    session_id: "session-1",
    input: `touch ${turnd.workspace}/ran`,
    resume_policy: "fail",
  });
  expect(result).toMatchObject({ status: "failed", degraded: true, failure: { code: "resume_degraded" } });
  expect(existsSync(join(turnd.workspace, "ran"))).toBe(false);
});

test("a stranger's session is killed before anything of it is passed on", async () => {
  const turnd = await fakeDaemon();
  const first = await turnd.run({ executor: "cli-b", session_id: "session-1", input: "hello" });
  const home = join(turnd.state, "sessions/session-1/home/fake-cli-b");
  writeFileSync(join(home, "answer-as"), "01a1fd18-0000-7000-8000-000000000000");
  const result = await turnd.run({
    session_id: "session-1",
    input: "secret of a stranger\nhang",
    resume_policy: "fail",
  });
  expect(result).toMatchObject({ status: "failed", failure: { code: "resume_degraded" }, exit: { signal: "SIGKILL" } });
  const events = await turnd.events(result.turn_id);
  expect(events.map((event) => event.type)).toEqual(["turn.started", "session.degraded", "turn.ended"]);
  expect((await turnd.request("GET", "/v1/sessions/session-1")).body.native_session_id).toBe(first.native_session_id);
});

test("a native id of the wrong form never reaches the CLI", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  await first.run({ executor: "cli-b", session_id: "session-1", input: "hello" });
  await first.stop();
  const file = join(first.state, "sessions/session-1/session.json");
  const session: Record<string, unknown> = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify({ ...session, native_session_id: "--last" }));
  const second = await fakeDaemonIn(directory);
  const refused = await second.run({ session_id: "session-1", input: "args", resume_policy: "fail" });
  expect(refused).toMatchObject({ status: "failed", failure: { code: "resume_degraded" } });
  expect((await second.events(refused.turn_id)).map((event) => event.type)).toEqual(["turn.ended"]);
  const fresh = await second.run({ session_id: "session-1", input: "args" });
  expect(fresh).toMatchObject({ status: "completed", resumed: false, degraded: true });
  const types = (await second.events(fresh.turn_id)).map((event) => event.type);
  expect(types.slice(0, 3)).toEqual(["turn.started", "session.degraded", "session.bound"]);
});
