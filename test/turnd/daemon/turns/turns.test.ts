import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LoggedEvent } from "../../../../src/turnd/protocol/index.ts";
import { fakeDaemon } from "../../../harness/fake-daemon.ts";
import { sharedDaemon } from "../../../harness/shared-daemon.ts";
import { CLI_USER } from "../../../harness/temporary.ts";

test("a turn's events are dense, valid, and end in one turn.ended whose digest proves them", async () => {
  const turnd = await sharedDaemon();
  const result = await turnd.run({ executor: "cli-b", input: "hello\ntool ls\nbye" });
  expect(result.status).toBe("completed");
  expect(result.output).toBe("bye");
  const { text } = await turnd.request("GET", `/v1/turns/${result.turn_id}/events`);
  const lines = text.trimEnd().split("\n");
  const events = lines.map((line) => LoggedEvent.parse(JSON.parse(line)));
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.filter((event) => event.type === "turn.ended")).toHaveLength(1);
  const digest = createHash("sha256")
    .update(
      lines
        .slice(0, -1)
        .map((line) => `${line}\n`)
        .join(""),
    )
    .digest("hex");
  expect(result.digest).toBe(digest);
  expect(result.counts.events).toBe(lines.length);
});

test("a session's second turn resumes the native session of its first", async () => {
  const turnd = await sharedDaemon();
  const first = await turnd.run({ executor: "cli-b", session_id: "session-1", input: "hello" });
  const second = await turnd.run({ session_id: "session-1", input: "again" });
  expect(second.resumed).toBe(true);
  expect(second.native_session_id).toBe(first.native_session_id);
  const [session] = (await turnd.request("GET", "/v1/sessions")).body.sessions;
  expect(session.turns).toEqual([first.turn_id, second.turn_id]);
});

test("the prompt reaches the CLI byte for byte, and neither it nor a key stands in argv", async () => {
  const turnd = await sharedDaemon();
  const input = `prompt\n"quotes" 'and' ünïcödé\t\u2028 -- --json`;
  const { output } = await turnd.run({ executor: "cli-b", input });
  expect(output).toContain("ünïcödé");
  const args = await turnd.run({ executor: "cli-b", input: "args" });
  expect(args.output).not.toContain("FAKE-KEY");
  expect(args.output?.split("\n").at(-1)).toBe("-");
});

test("the CLI gets the allow-listed environment, its own variables, and nothing else of turnd's", async () => {
  const turnd = await fakeDaemon({ TURND_PASS_ENV: "EXTRA_ONE", EXTRA_ONE: "1", EXTRA_TWO: "2", TZ: "UTC" });
  const { output, session_id, turn_id } = await turnd.run({ executor: "cli-b", input: "env" });
  const names = output?.split("\n").map((line) => line.split("=")[0]);
  expect(names).toEqual(expect.arrayContaining(["PATH", "HOME", "TMPDIR", "TZ", "EXTRA_ONE", "CLI_B_API_KEY"]));
  expect(names).not.toContain("EXTRA_TWO");
  expect(names?.filter((name) => name?.startsWith("TURND_"))).toEqual(["TURND_TURN_ID"]);
  expect(output).toContain("CLI_B_API_KEY=[redacted]");
  const kept = readFileSync(join(turnd.state, "sessions", session_id, "turns", turn_id, "result.json"), "utf8");
  expect(kept).toContain("CLI_B_API_KEY=[redacted]");
});

test("the CLI runs as the CLIs' user in the turn's workspace", async () => {
  const turnd = await sharedDaemon();
  const { output } = await turnd.run({ executor: "cli-b", input: "cwd" });
  expect(output).toBe(turnd.workspace);
  const { turn_id } = await turnd.run({ executor: "cli-b", input: `touch ${turnd.workspace}/made` });
  expect(statSync(join(turnd.workspace, "made")).uid).toBe(CLI_USER.uid);
  expect((await turnd.request("GET", `/v1/turns/${turn_id}`)).body.status).toBe("completed");
});

test("a turn's directory is a recording that only turnd can read", async () => {
  const turnd = await sharedDaemon();
  const { turn_id, session_id } = await turnd.run({ executor: "cli-b", input: "hello" });
  const turn = join(turnd.state, "sessions", session_id, "turns", turn_id);
  for (const name of [
    "turn.json",
    "prompt.txt",
    "started",
    "stdout.jsonl",
    "stderr.log",
    "exit.json",
    "events.jsonl",
    "result.json",
  ]) {
    expect(statSync(join(turn, name)).mode & 0o777, name).toBe(0o600);
  }
  expect(JSON.parse(readFileSync(join(turn, "exit.json"), "utf8"))).toMatchObject({ code: 0, signal: null });
  const modes = [
    "",
    "sessions",
    `sessions/${session_id}`,
    `sessions/${session_id}/turns`,
    `sessions/${session_id}/home`,
  ];
  expect(modes.map((path) => (statSync(join(turnd.state, path)).mode & 0o777).toString(8))).toEqual([
    "711",
    "711",
    "711",
    "700",
    "700",
  ]);
});

test("a CLI that fails, crashes or prints nothing is reported as what it is", async () => {
  const turnd = await sharedDaemon();
  const run = async (input: string) => (await turnd.run({ executor: "cli-b", input })).failure?.code;
  expect(await run("kill-self")).toBe("crashed");
  expect(await run("exit 101")).toBe("crashed");
  expect(await run("exit 0")).toBe("output_incomplete");
});

test("a tool that never ended is closed as interrupted before the end", async () => {
  const turnd = await sharedDaemon();
  const { turn_id } = await turnd.run({ executor: "cli-b", input: "open-tool sleep 1\nexit 1" });
  const events = await turnd.events(turn_id);
  expect(events.at(-2)).toMatchObject({ type: "tool.ended", data: { status: "interrupted" } });
  expect(events.at(-1)?.type).toBe("turn.ended");
});

test("what is not JSON or of no known type is kept as record.unknown", async () => {
  const turnd = await sharedDaemon();
  const { turn_id, counts, status } = await turnd.run({
    executor: "cli-b",
    input: 'raw this is no JSON\nraw {"type":"from.the.future","x":1}\nraw {"type":"item.completed"}',
  });
  const unknown = (await turnd.events(turn_id)).filter((event) => event.type === "record.unknown");
  expect(unknown.map((event) => event.data)).toEqual([
    { reason: "not_json", line: "this is no JSON" },
    { reason: "unknown_type", line: '{"type":"from.the.future","x":1}' },
    { reason: "bad_shape", line: '{"type":"item.completed"}' },
  ]);
  expect([counts.unknown, status]).toEqual([3, "completed"]);
});

test("a CLI that is not there fails the turn as executor_unavailable, and the daemon goes on", async () => {
  const turnd = await fakeDaemon({ CLI_B_BIN: "/nonexistent/cli" });
  const result = await turnd.run({ executor: "cli-b", input: "hello" });
  expect(result.failure).toMatchObject({ code: "executor_unavailable", user_action: "operator", retryable: false });
  expect(await turnd.events(result.turn_id)).toHaveLength(1);
  expect((await turnd.request("GET", "/v1/health")).status).toBe(200);
});

test("a CLI that is not configured fails the turn as credential_missing", async () => {
  const turnd = await fakeDaemon({ CLI_B_API_KEY: "", CLI_B_MODEL: "", CLI_B_BASE_URL: "" });
  const result = await turnd.run({ executor: "cli-b", input: "hello" });
  expect(result.failure).toMatchObject({ code: "credential_missing", user_action: "credentials" });
});

test("every refusal has its status, its code, and a message that names what to change", async () => {
  const turnd = await sharedDaemon();
  const refusals: [what: string, body: unknown, status: number, code: string][] = [
    ["an unknown executor", { executor: "cli-c", input: "x" }, 422, "invalid_request"],
    ["no input", { executor: "cli-b" }, 422, "invalid_request"],
    ["an empty input", { executor: "cli-b", input: " \n" }, 422, "invalid_request"],
    ["an oversized input", { executor: "cli-b", input: "x".repeat(1_048_577) }, 422, "invalid_request"],
    ["an unknown field", { executor: "cli-b", input: "x", inputs: "y" }, 422, "invalid_request"],
    ["a model that is none", { executor: "cli-b", input: "x", model: "--yolo" }, 422, "invalid_request"],
    ["a missing workspace", { executor: "cli-b", input: "x", workspace: "/nonexistent" }, 422, "workspace_unusable"],
    ["a workspace outside the roots", { executor: "cli-b", input: "x", workspace: "/etc" }, 422, "workspace_unusable"],
    ["a session that was never made", { session_id: "never-made", input: "x" }, 404, "session_not_found"],
    ["invalid JSON", "{nope", 400, "invalid_json"],
  ];
  for (const [what, body, status, code] of refusals) {
    const answer = await turnd.request("POST", "/v1/turns", body);
    expect([what, answer.status, answer.body.detail.code]).toEqual([what, status, code]);
    expect(answer.body.detail.message).not.toBe("");
  }
});

test("a workspace that the CLIs' user cannot use is refused", async () => {
  const turnd = await fakeDaemon({ TURND_WORKSPACE_ROOTS: "/" });
  const answer = await turnd.request("POST", "/v1/turns", { executor: "cli-b", input: "x", workspace: "/proc/1" });
  expect(answer.body.detail.code).toBe("workspace_unusable");
});

test("an answer of 2 MB arrives whole", async () => {
  const turnd = await sharedDaemon();
  const result = await turnd.run({
    executor: "cli-b",
    input: `raw {"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"${"ab".repeat(500_000)}"}}`,
  });
  expect(result.output).toBe("ab".repeat(500_000));
});
