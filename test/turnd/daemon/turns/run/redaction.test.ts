import { readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, inject, onTestFinished, test } from "vitest";
import { LoggedEvent } from "../../../../../src/turnd/protocol/index.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

const SECRET = "tok-5c1e9a7740";
const TOML = `model = "m"
model_provider = "x"
[model_providers.x]
name = "x"
base_url = "http://127.0.0.1:9/v1"
wire_api = "responses"
env_key = "CLI_B_API_KEY"
[mcp_servers.files]
command = "mcp-files"
[mcp_servers.files.env]
MAX_BYTES = "10485760"
PROJECT_ROOT = "/workspace"
PIN_PASSWORD = "83920174"
SERVICE_TOKEN = "${SECRET}"
`;
const ENV = { CLI_B_CONFIG_TOML: TOML, CLI_B_MODEL: "", CLI_B_BASE_URL: "" };

function toolCall(id: string, args: object): string {
  const item = { id, type: "mcp_tool_call", server: "files", tool: "stat", status: "completed" };
  return `raw ${JSON.stringify({ type: "item.completed", item: { ...item, arguments: args, result: { content: [] } } })}`;
}

test("configured values change no number and no path, and what was served stays as it is after kill -9", async () => {
  const directory = temporaryDirectory(onTestFinished);
  let turnd = await fakeDaemonIn(directory, ENV);
  const args = { size: 10485760, pin: 83920174, path: "/workspace/a.ts", text: `83920174 ${SECRET}`, [SECRET]: true };
  const input = `one\n${toolCall("item_7", args)}\npaced 20 0\nhang`;
  const { turn_id } = await turnd.admit({ executor: "cli-b", input });
  const lines = async (): Promise<string[]> =>
    (await turnd.request("GET", `/v1/turns/${turn_id}/events`)).text.trimEnd().split("\n");
  await waitFor("all messages", async () => (await lines()).length >= 25);
  const before = await lines();
  const events = before.map((line) => LoggedEvent.parse(JSON.parse(line)));
  const call = events.find(({ type }) => type === "tool.started");
  expect(call).toMatchObject({
    data: {
      input: {
        size: 10485760,
        pin: 83920174,
        path: "/workspace/a.ts",
        text: "[redacted] [redacted]",
        "[redacted]": true,
      },
    },
  });
  expect(before.join("\n")).not.toContain(SECRET);

  turnd.kill("SIGKILL");
  await turnd.exited;
  // Another secret from now on: what is logged was not one when it was written, and does not change.
  turnd = await fakeDaemonIn(directory, {
    ...ENV,
    CLI_B_CONFIG_TOML: TOML.replace('"10485760"', '"1"').replace(SECRET, "paced-20-is-a-token-5c"),
  });
  const cursor = { "last-event-id": String(before.length) };
  expect((await turnd.request("GET", `/v1/turns/${turn_id}/events`, undefined, cursor)).status).toBeLessThan(300);
  await turnd.request("POST", `/v1/turns/${turn_id}/cancel`);
  const after = await lines();
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after).toHaveLength(before.length + 1);
  expect(JSON.parse(after.at(-1) ?? "")).toMatchObject({
    type: "turn.ended",
    data: { counts: { events: after.length } },
  });
});

test("an exported recording, and one that is written, lose the secret and nothing else, and play as before", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const turnd = await fakeDaemonIn(directory, ENV);
  const args = { size: 10485760, pin: 83920174, text: `83920174 ${SECRET}` };
  const { turn_id, counts } = await turnd.run({ executor: "cli-b", input: `one\n${toolCall("item_7", args)}` });
  expect(counts.unknown).toBe(0);
  const { text, body } = await turnd.request("GET", `/v1/turns/${turn_id}/recording`);
  expect(text).not.toContain(SECRET);
  expect(body.stdout.join("")).toContain('"arguments":{"size":10485760,"pin":83920174,"text":"[redacted] [redacted]"}');
  const replayed = await turnd.request("POST", "/v1/replays?wait_ms=60000", { recording: body, speed: "max" });
  expect(replayed.body).toMatchObject({ status: "completed", counts });
});

test("turnd replay prints no secret of its environment, whatever else is wrong with that", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const turnd = await fakeDaemonIn(directory);
  const args = { size: 10485760, text: SECRET, word: "word-5c1e9a77" };
  const { turn_id, session_id } = await turnd.run({ executor: "cli-b", input: `one\n${toolCall("item_7", args)}` });
  const recording = join(turnd.state, "sessions", session_id, "turns", turn_id);
  expect(readFileSync(join(recording, "events.jsonl"), "utf8")).toContain(SECRET);
  for (const env of [
    { SOME_TOKEN: SECRET },
    { ...ENV, CLI_B_API_KEY: "k-123456" },
    { SOME_TOKEN: SECRET, TURND_PORT: "no" },
  ]) {
    const command = [inject("turnd"), "replay", recording];
    const { stdout } = await execa(process.execPath, command, { extendEnv: false, env });
    const call = stdout
      .trimEnd()
      .split("\n")
      .map((line) => {
        const { recording: named, ...event } = JSON.parse(line);
        expect(named).toBe(recording);
        return LoggedEvent.parse(event);
      });
    expect(call.find(({ type }) => type === "tool.started")?.data).toMatchObject({
      input: { size: 10485760, text: "[redacted]", word: "word-5c1e9a77" },
    });
    expect(stdout).not.toContain(SECRET);
  }
});

test("turnd's own log lines stay JSON with their numbers", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const turnd = await fakeDaemonIn(directory, { TURND_LOG_LEVEL: "debug", MY_PASSWORD: "127001", OTHER_TOKEN: SECRET });
  await turnd.request("GET", `/v1/turns/${SECRET}`);
  await turnd.run({ executor: "cli-b", input: "hello" });
  expect(turnd.log.length).toBeGreaterThan(3);
  for (const line of turnd.log)
    expect(JSON.parse(line)).toMatchObject({ level: expect.any(Number), pid: expect.any(Number) });
  expect(turnd.log.join("\n")).not.toContain(SECRET);
});
