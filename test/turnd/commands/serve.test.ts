import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createReadableLog } from "../../../src/turnd/commands/readable-log.ts";
import { scriptedEnv, startScriptedProvider } from "../../../src/turnd/commands/scripted-provider.ts";
import { describeUselessVariables } from "../../../src/turnd/commands/unknown-variables.ts";
import { EXECUTORS } from "../../../src/turnd/daemon/executors/registry.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";

test("a person reads time, level, message and fields of a log line, and the stack of an error", () => {
  const format = createReadableLog(false);
  const line = { level: 40, time: 0, pid: 1, hostname: "h", name: "turnd", executor: "cli-b", msg: "cannot run" };
  expect(format(JSON.stringify(line))).toMatch(/^\[\d\d:\d\d:\d\d\] WARN: cannot run {2}executor=cli-b\n$/);
  const failed = { ...line, err: { type: "Error", message: "no disk", stack: "Error: no disk\n    at there" } };
  expect(format(JSON.stringify(failed))).toMatch(/cannot run {2}executor=cli-b\nError: no disk\n {4}at there\n$/);
});

test("nothing that another program printed steers the terminal of who reads the log", () => {
  const hostile = "\u001b]0;owned\u0007\u009b31m\u202e\nline";
  const line = { level: 30, msg: hostile, [hostile]: hostile, nested: { text: hostile }, err: { stack: hostile } };
  const text = createReadableLog(false)(JSON.stringify(line));
  // oxlint-disable-next-line no-control-regex -- these are what must not be there
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});

test("a variable that looks like turnd's is named with the one that may be meant, and never with its value", () => {
  const env = {
    TURND_PROT: "secret-value",
    CLI_B_MODLE: "x",
    TURND_XYZZY: "1",
    // Those have an effect.
    TURND_PORT: "1",
    TURND_URL: "http://127.0.0.1",
    CLI_B_ENV_KEY: "CLI_B_APIKEY",
    CLI_B_APIKEY: "key",
    TURND_PASS_ENV: "TURND_FLAVOUR",
    TURND_FLAVOUR: "sweet",
    CLI_A_VERSION: "1",
    HOME: "/root",
  };
  expect(describeUselessVariables(env, EXECUTORS)).toEqual([
    "CLI_B_MODLE is no variable of turnd and has no effect: did you mean CLI_B_MODEL?",
    "TURND_PROT is no variable of turnd and has no effect: did you mean TURND_PORT?",
    "TURND_XYZZY is no variable of turnd and has no effect",
  ]);
});

test("with the scripted model no other provider of a CLI is left in the environment", () => {
  const env = {
    CLI_A_NAME: "opencode",
    CLI_A_JSON: "{}",
    CLI_B_CONFIG_TOML: "model = 'gpt'",
    CLI_B_ENV_KEY: "MY_KEY",
    CLI_B_SANDBOX_MODE: "read-only",
    NO_PROXY: "intern",
  };
  expect(scriptedEnv(env, EXECUTORS, "http://127.0.0.1:1/v1")).toEqual({
    CLI_A_NAME: "opencode",
    CLI_A_PROVIDER: "scripted",
    CLI_A_MODEL: "scripted",
    CLI_A_BASE_URL: "http://127.0.0.1:1/v1",
    CLI_A_API_KEY: "no-key-needed",
    CLI_B_MODEL: "scripted",
    CLI_B_BASE_URL: "http://127.0.0.1:1/v1",
    CLI_B_API_KEY: "no-key-needed",
    CLI_B_SANDBOX_MODE: "read-only",
    NO_PROXY: "intern,127.0.0.1",
    no_proxy: "127.0.0.1",
  });
});

test("the scripted model has the port of the last time where it is free, and another where it is not", async () => {
  const state = join(temporaryDirectory(onTestFinished), "state");
  mkdirSync(state);
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const address = other.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  writeFileSync(join(state, "scripted-model-port"), `${port}\n`);
  const first = await startScriptedProvider({}, EXECUTORS, state);
  expect(new URL(first.url).port).not.toBe(String(port));
  expect(readFileSync(join(state, "scripted-model-port"), "utf8")).toBe(`${new URL(first.url).port}\n`);
  await first.close();
  const second = await startScriptedProvider({}, EXECUTORS, state);
  expect(second.url).toBe(first.url);
  await second.close();
});
