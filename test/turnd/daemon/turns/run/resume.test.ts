import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { sharedDaemon } from "../../../../harness/shared-daemon.ts";
import { fakeCliA } from "../../../../harness/fake-env.ts";
import { CLI_USER, temporaryDirectory, userFile } from "../../../../harness/temporary.ts";

/** A session with one turn, whose native state is then lost. */
async function lostSession(): Promise<{ turnd: TestDaemon; native: string | undefined; home: string }> {
  const turnd = await sharedDaemon();
  const first = await turnd.run({ executor: "cli-b", session_id: "session-1", input: "the first question" });
  const home = join(turnd.state, "sessions/session-1/home");
  for (const name of readdirSync(join(home, "fake-cli-b/sessions"))) {
    if (name.startsWith("thread-")) rmSync(join(home, "fake-cli-b/sessions", name));
  }
  return { turnd, native: first.native_session_id, home };
}

test("a lost native session goes on in a fresh one that is given the history, and reports it first", async () => {
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

test("a turn that the CLI could not save is not left out of the next one, which reports it", async () => {
  const turnd = await sharedDaemon();
  const message =
    "Failed to save the conversation transcript; Codex will continue retrying. Error: No space left on device";
  const item = JSON.stringify({ type: "item.completed", item: { id: "item_9", type: "error", message } });
  // Printed once, though the history repeats the command.
  const once = join(turnd.workspace, "once");
  writeFileSync(
    once,
    `${item}
`,
  );
  userFile(once);
  const input = `the first question
shell cat ${once} && rm ${once}`;
  const first = await turnd.run({ executor: "cli-b", session_id: "session-1", input });
  expect(first).toMatchObject({ status: "completed" });
  const warnings = (await turnd.events(first.turn_id)).filter(({ type }) => type === "warning");
  expect(warnings).toMatchObject([{ data: { code: "history_not_saved" } }]);

  const next = await turnd.run({ session_id: "session-1", input: "prompt" });
  expect(next).toMatchObject({ status: "completed", resumed: false, degraded: true });
  expect(next.native_session_id).not.toBe(first.native_session_id);
  expect(next.output).toContain("the first question");
  const third = await turnd.run({ session_id: "session-1", input: "again" });
  expect(third).toMatchObject({ resumed: true, degraded: false, native_session_id: next.native_session_id });
});

test("a session that does not match is killed before anything of it is passed on", async () => {
  const turnd = await sharedDaemon();
  const first = await turnd.run({ executor: "cli-b", session_id: "session-1", input: "hello" });
  const home = join(turnd.state, "sessions/session-1/home/fake-cli-b");
  writeFileSync(join(home, "sessions/answer-as.jsonl"), "01a1fd18-0000-7000-8000-000000000000");
  const result = await turnd.run({
    session_id: "session-1",
    input: "secret of another session\nhang",
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

/** The two CLIs, and what may stand where a session's home was. */
const EXECUTORS = ["cli-a", "cli-b"] as const;
const IN_ITS_PLACE = {
  nothing: () => undefined,
  "a file": (home: string) => writeFileSync(home, "no home"),
  "a dangling link": (home: string) => symlinkSync("/nowhere", home),
  "a link to another directory": (home: string) => symlinkSync("..", home),
} as const;

describe.each(EXECUTORS)("%s, whose session's home is gone", (executor) => {
  async function homeless(put: (home: string) => void) {
    const directory = temporaryDirectory(onTestFinished);
    const turnd = await fakeDaemonIn(directory, fakeCliA(directory));
    const first = await turnd.run({ executor, session_id: "session-1", input: "the first question" });
    expect(first.status).toBe("completed");
    const home = join(turnd.state, "sessions/session-1/home");
    renameSync(home, join(directory, "lost"));
    put(home);
    return { turnd, home, native: first.native_session_id };
  }

  test.each(Object.entries(IN_ITS_PLACE))(
    "%s in its place: fail says resume_degraded and runs nothing",
    async (_, put) => {
      const { turnd, home } = await homeless(put);
      const input = `touch ${turnd.workspace}/ran`;
      const result = await turnd.run({ session_id: "session-1", input, resume_policy: "fail" });
      expect(result).toMatchObject({ status: "failed", failure: { code: "resume_degraded" } });
      expect(result.failure?.message).toContain("home");
      expect(existsSync(join(turnd.workspace, "ran"))).toBe(false);
      expect(existsSync(join(home, "tmp"))).toBe(false);
    },
  );

  test.each(Object.entries(IN_ITS_PLACE))(
    "%s in its place: continue goes on degraded, in a new home",
    async (_, put) => {
      const { turnd, home, native } = await homeless(put);
      const second = await turnd.run({ session_id: "session-1", input: "prompt" });
      expect(second).toMatchObject({ status: "completed", resumed: false, degraded: true });
      const events = await turnd.events(second.turn_id);
      expect(events.map((event) => event.type).slice(0, 3)).toEqual([
        "turn.started",
        "session.degraded",
        "session.bound",
      ]);
      expect(events[1]?.data).toMatchObject({ code: "resume_degraded", requested: native });
      const prompt = readFileSync(join(turnd.state, "sessions/session-1/turns", second.turn_id, "prompt.txt"), "utf8");
      expect(prompt).toContain("the first question");
      expect(statSync(home)).toMatchObject({ uid: CLI_USER.uid, gid: CLI_USER.gid });
      const third = await turnd.run({ session_id: "session-1", input: "again" });
      expect(third).toMatchObject({ status: "completed", resumed: true, degraded: false });
      expect((await turnd.request("DELETE", "/v1/sessions/session-1")).status).toBe(204);
      expect(readdirSync(join(turnd.state, "sessions"))).toEqual([]);
    },
  );
});

test("a home that is gone before there is anything to resume is made again, and nothing is degraded", async () => {
  const turnd = await sharedDaemon();
  await turnd.request("POST", "/v1/sessions", { executor: "cli-b", session_id: "session-1" });
  renameSync(join(turnd.state, "sessions/session-1/home"), join(turnd.state, "lost"));
  const result = await turnd.run({ session_id: "session-1", input: "hello" });
  expect(result).toMatchObject({ status: "completed", degraded: false });
});

test("a home that a tool has closed to its own user is opened for the next turn", async () => {
  const turnd = await sharedDaemon();
  const first = await turnd.run({ executor: "cli-b", session_id: "session-1", input: "shell chmod 0 $TMPDIR/.." });
  const second = await turnd.run({ session_id: "session-1", input: "hello" });
  expect(second).toMatchObject({ status: "completed", native_session_id: first.native_session_id, resumed: true });
});
