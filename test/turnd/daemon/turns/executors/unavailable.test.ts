import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemon, fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { lookAtExecutor } from "../../../../harness/look-at-executor.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

/** A provider that answers every request in one way, and what it was sent. */
async function provider(status: number, body: string): Promise<{ url: string; bodies: string[] }> {
  const bodies: string[] = [];
  const answer: RequestListener = (request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      bodies.push(text);
      response.writeHead(status).end(body);
    });
  };
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { url: `http://127.0.0.1:${address.port}/v1`, bodies };
}

/** Runs a turn and shows that it failed as unavailable, and that no process was started for it. */
async function expectUnavailable(turnd: TestDaemon, executor: string, why: RegExp): Promise<void> {
  const result = await turnd.run({ executor, input: "hello" });
  expect(result).toMatchObject({
    status: "failed",
    executor,
    failure: { code: "executor_unavailable", retryable: false, user_action: "operator" },
  });
  expect(result.failure?.message).toMatch(why);
  expect((await turnd.events(result.turn_id)).map(({ type }) => type)).toEqual(["turn.ended"]);
  const directory = join(turnd.state, "sessions", result.session_id, "turns", result.turn_id);
  expect(existsSync(join(directory, "started"))).toBe(false);
  const body = await lookAtExecutor(turnd, executor);
  expect(body).toMatchObject({ available: false, unavailable: { code: "executor_unavailable" } });
  expect(body.unavailable.message).toMatch(why);
}

test("a provider without the Responses API fails turns before a process starts, and never sees a prompt", async () => {
  const { url, bodies } = await provider(404, '{"detail":"Not Found"}');
  const turnd = await fakeDaemon({ CLI_B_BASE_URL: url });
  await expectUnavailable(turnd, "cli-b", /no Responses API/);
  const result = await turnd.run({ executor: "cli-b", input: "again" });
  expect(result.failure?.evidence).toEqual([
    { source: "turnd", text: `POST ${url}/responses was answered 404: {"detail":"Not Found"}` },
  ]);
  // Two turns and a look at the executor: one question.
  expect(bodies).toEqual(["{}"]);
  const body = await lookAtExecutor(turnd, "cli-b");
  expect(body.provider).toMatchObject({ url: `${url}/responses`, api: "absent" });
  expect((await turnd.request("GET", "/v1/ready")).body.ready).toBe(false);
});

test("a provider that refuses the empty request has the API: turns run", async () => {
  const { url } = await provider(400, '{"error":{"message":"Missing required parameter: model."}}');
  const turnd = await fakeDaemon({ CLI_B_BASE_URL: url });
  expect((await turnd.run({ executor: "cli-b", input: "hello" })).status).toBe("completed");
  const body = await lookAtExecutor(turnd, "cli-b");
  expect(body).toMatchObject({ available: true, provider: { api: "present" } });
});

test("a provider that cannot be reached proves nothing: the turn runs and finds its own cause", async () => {
  const turnd = await fakeDaemon({ CLI_B_BASE_URL: "http://127.0.0.1:1/v1" });
  expect((await turnd.run({ executor: "cli-b", input: "hello" })).status).toBe("completed");
  const body = await lookAtExecutor(turnd, "cli-b");
  expect(body).toMatchObject({ available: true, provider: { api: "unproven" } });
});

test("with TURND_CHECK_PROVIDER=off no provider is asked", async () => {
  const { url, bodies } = await provider(404, "");
  const turnd = await fakeDaemon({ CLI_B_BASE_URL: url, TURND_CHECK_PROVIDER: "off" });
  expect((await turnd.run({ executor: "cli-b", input: "hello" })).status).toBe("completed");
  expect((await lookAtExecutor(turnd, "cli-b")).provider).toBeUndefined();
  expect(bodies).toEqual([]);
});

test("readiness does not wait for a provider that never answers", async () => {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  let asked = 0;
  server.on("request", () => (asked += 1));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const turnd = await fakeDaemon({ CLI_B_BASE_URL: `http://127.0.0.1:${address.port}/v1` });
  expect((await turnd.request("GET", "/v1/ready")).status).toBe(200);
  expect(asked).toBe(0);
});

test("a wire_api that the CLI does not support fails turns before a process starts", async () => {
  const toml =
    'model = "m"\nmodel_provider = "p"\n[model_providers.p]\nname = "p"\nbase_url = "http://127.0.0.1:9/v1"\nwire_api = "chat"\n';
  await expectUnavailable(await fakeDaemon({ CLI_B_CONFIG_TOML: toml }), "cli-b", /wire_api "chat"/);
});

test("a CLI that is not there fails turns, and the other one never steps in", async () => {
  const turnd = await fakeDaemon({ CLI_A_NAME: "no-such-cli" });
  await expectUnavailable(turnd, "cli-a", /no-such-cli/);
  expect((await lookAtExecutor(turnd, "cli-b")).available).toBe(true);
});

test("a directory for a program fails turns, and is no internal error", async () => {
  await expectUnavailable(await fakeDaemon({ CLI_B_BIN: "/tmp" }), "cli-b", /\/tmp is a directory/);
});

test("a Node script given by an explicit path runs turns, with a warning", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const script = join(directory, "cli.js");
  writeFileSync(script, `#!${process.execPath}\nconsole.log("node-cli 0.139.0");\n`);
  chmodSync(script, 0o755);
  const turnd = await fakeDaemonIn(directory, { CLI_B_BIN: script });
  const body = await lookAtExecutor(turnd, "cli-b");
  expect(body).toMatchObject({ available: true, binary: script, version: "0.139.0" });
  expect(body.warnings).toEqual([expect.stringMatching(/a Node wrapper loses signals/)]);
  const { turn_id } = await turnd.run({ executor: "cli-b", input: "hello" });
  expect((await turnd.events(turn_id)).map(({ type }) => type)).toContain("turn.started");
});

test("a Node wrapper without its platform package fails turns", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const bin = join(directory, "wrapped/node_modules/@openai/codex/bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "codex"), "#!/usr/bin/env node\n");
  chmodSync(join(bin, "codex"), 0o755);
  const turnd = await fakeDaemonIn(directory, { CLI_B_BIN: "", CLI_B_NAME: "codex", PATH: `${bin}:/usr/bin:/bin` });
  await expectUnavailable(turnd, "cli-b", /no native package/);
});

/** `bash --version` stands for a CLI that is there; it ignores the guard of CLI A. */
const BASH = { CLI_A_BIN: "/bin/bash", TURND_ALLOW_WORKSPACE_PLUGINS: "1" };

test("a provider package that would be fetched from npm fails turns before a process starts", async () => {
  const turnd = await fakeDaemon({
    ...BASH,
    CLI_A_PROVIDER: "lab",
    CLI_A_MODEL: "m",
    CLI_A_BASE_URL: "http://127.0.0.1:9/v1",
    CLI_A_API_KEY: "FAKE-KEY-FOR-TESTS",
    CLI_A_PROVIDER_NPM: "ollama-ai-provider",
  });
  await expectUnavailable(turnd, "cli-a", /ollama-ai-provider/);
});

test("a turn whose model's provider would be fetched from npm is not run; one of another provider is", async () => {
  const config = {
    model: "good/m",
    provider: { good: { npm: "@ai-sdk/groq" }, bad: { npm: "ollama-ai-provider" } },
  };
  const turnd = await fakeDaemon({ ...BASH, CLI_A_JSON: JSON.stringify(config) });
  const result = await turnd.run({ executor: "cli-a", model: "bad/m", input: "hello" });
  expect(result.failure).toMatchObject({ code: "executor_unavailable" });
  expect(result.failure?.message).toContain("ollama-ai-provider");
  expect((await turnd.events(result.turn_id)).map(({ type }) => type)).toEqual(["turn.ended"]);
  const other = await turnd.run({ executor: "cli-a", model: "good/other", input: "hello" });
  expect((await turnd.events(other.turn_id)).map(({ type }) => type)).toContain("turn.started");
});

test("the log names at the start which CLI is configured, and why another one cannot run turns", async () => {
  const turnd = await fakeDaemon({ CLI_A_NAME: "no-such-cli" });
  const log = await waitFor("the report", () => {
    const text = turnd.log.join("\n");
    return text.includes('"executor":"cli-b"') && text;
  });
  expect(log).toMatch(/"executor":"cli-a"[^}]*no-such-cli cannot be run[^}]*"msg":"executor cannot run turns"/);
  expect(log).toMatch(/"executor":"cli-b"[^}]*"msg":"executor is configured"/);
  expect(log).not.toContain("no executor can run turns yet");
});

test("a CLI whose program nothing has named says which variable names it", async () => {
  const turnd = await fakeDaemon({ CLI_B_NAME: "", CLI_B_BIN: "" });
  await expectUnavailable(turnd, "cli-b", /"cli-b" is not on PATH: set CLI_B_NAME=codex where that is, or CLI_B_BIN; /);
});
