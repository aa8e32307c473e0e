import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readConfigurations } from "../../../src/turnd/daemon/serve/configurations.ts";
import { EXECUTORS } from "../../../src/turnd/daemon/executors/registry.ts";
import { readSettings, SettingsError } from "../../../src/turnd/daemon/settings.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";

const ROOT = { uid: 0, gid: 0 };

test("nothing set gives the defaults", () => {
  const settings = readSettings({}, ROOT);
  expect(settings.values).toMatchObject({ TURND_HOST: "127.0.0.1", TURND_PORT: 8091, TURND_MAX_TURNS: 4 });
  expect(settings.runAs).toEqual({ uid: 1000, gid: 1000, isSelf: false });
  expect(settings.workspaceRoots).toEqual(["/workspace", "/home/sandbox"]);
  expect(settings.token).toBeUndefined();
});

test("an empty variable counts as not set", () => {
  expect(readSettings({ TURND_PORT: "", TURND_TOKEN: "" }, ROOT).values.TURND_PORT).toBe(8091);
});

test.each([
  ["TURND_PORT", "65536", "must be at most 65535"],
  ["TURND_PORT", "http", "must match"],
  ["TURND_MAX_TURNS", "0", "must be at least 1"],
  ["TURND_STATE_DIR", "state", "must be an absolute path"],
  ["TURND_RUN_AS", "sandbox", "must match"],
  ["TURND_LOG_LEVEL", "loud", "must be one of trace, debug"],
  ["CLI_A_NAME", "../x", "must match"],
  ["TURND_PASS_ENV", "A;B", "must match"],
  ["TURND_TERMINAL_PORT", "65536", "must be at most 65535"],
  ["TURND_TERMINAL_PORT", "on", "must match"],
  ["TURND_TERMINAL_URL", "http://sandbox.example/path", "must match"],
  ["TURND_TERMINAL_ORIGINS", "https://one.example two.example", "must match"],
  ["TURND_CORS_ORIGINS", "*", "must match"],
  ["TURND_CORS_ORIGINS", "https://app.example,null", "must match"],
  ["TURND_CORS_ORIGINS", "https://*.app.example", "must match"],
  ["TURND_CORS_ORIGINS", "https://app.example/page", "must match"],
  ["TURND_SHELL_SCROLLBACK_BYTES", "1000", "must be at least 131072"],
  ["TURND_HOSTS", "sandbox.example:80", "must match"],
])("%s=%s stops turnd with its name, its value and what is allowed", (name, value, allowed) => {
  const read = (): unknown => readConfigurations(readSettings({ [name]: value }, ROOT), EXECUTORS);
  expect(read).toThrow(SettingsError);
  expect(read).toThrow(`${name} is ${JSON.stringify(value)}: ${allowed}`);
});

test("the terminal's port is not that of /v1", () => {
  for (const env of [{ TURND_TERMINAL_PORT: "8091" }, { TURND_PORT: "7000", TURND_TERMINAL_PORT: "7000" }]) {
    expect(() => readSettings(env, ROOT)).toThrow(`TURND_TERMINAL_PORT is "${env.TURND_TERMINAL_PORT}": must not be`);
  }
  // The system picks two.
  expect(readSettings({ TURND_PORT: "0", TURND_TERMINAL_PORT: "0" }, ROOT).values.TURND_TERMINAL_PORT).toBe(0);
});

test("all wrong variables are reported at once, and a token's value never is", () => {
  const read = (): unknown => readSettings({ TURND_PORT: "x", TURND_MAX_TURNS: "y", TURND_TOKEN: "short" }, ROOT);
  expect(read).toThrow(/TURND_PORT[^]*TURND_MAX_TURNS|TURND_MAX_TURNS[^]*TURND_PORT/);
  expect(read).toThrow("TURND_TOKEN is (hidden)");
});

test("turnd does not listen beyond loopback without a token", () => {
  for (const name of ["TURND_HOST", "TURND_TERMINAL_HOST"]) {
    const refused = `${name} is 0.0.0.0: turnd listens beyond loopback only with TURND_TOKEN or TURND_TOKEN_FILE`;
    expect(() => readSettings({ [name]: "0.0.0.0" }, ROOT)).toThrow(refused);
  }
  expect(readSettings({ TURND_HOST: "0.0.0.0", TURND_TOKEN: "long-enough" }, ROOT).token).toBe("long-enough");
});

test("any name is good as Host only with a token", () => {
  expect(() => readSettings({ TURND_HOSTS: "*" }, ROOT)).toThrow("TURND_HOSTS is *");
  const env = { TURND_HOSTS: "*, sandbox.example", TURND_TOKEN: "12345678" };
  expect(readSettings(env, ROOT).values.TURND_HOSTS).toEqual(["*", "sandbox.example"]);
});

test("a token file is read, and one that holds none is refused", () => {
  const path = join(temporaryDirectory(onTestFinished), "token");
  writeFileSync(path, "from-the-file\n");
  expect(readSettings({ TURND_TOKEN_FILE: path }, ROOT).token).toBe("from-the-file");
  writeFileSync(path, "\n");
  expect(() => readSettings({ TURND_TOKEN_FILE: path }, ROOT)).toThrow("must hold at least 8 visible characters");
  expect(() => readSettings({ TURND_TOKEN_FILE: "/nonexistent" }, ROOT)).toThrow("TURND_TOKEN_FILE cannot be read");
});

test("only root can run the CLIs as another user", () => {
  const someone = { uid: 1234, gid: 1234 };
  expect(() => readSettings({}, someone)).toThrow("TURND_RUN_AS=self");
  expect(readSettings({ TURND_RUN_AS: "self" }, someone).runAs).toEqual({ ...someone, isSelf: true });
  expect(readSettings({ TURND_RUN_AS: "1234:1234" }, someone).runAs.isSelf).toBe(true);
});

test("the terminal's port is off unless it is set, and origins are as browsers write them", () => {
  expect(readSettings({}, ROOT).values).toMatchObject({ TURND_TERMINAL_PORT: "off", TURND_TERMINAL_ORIGINS: [] });
  const { values } = readSettings(
    {
      TURND_TERMINAL_PORT: "6080",
      TURND_TERMINAL_URL: "https://Sandbox.Example:443/",
      TURND_TERMINAL_ORIGINS: "http://one.example:80, https://two.example:8443",
    },
    ROOT,
  );
  expect(values).toMatchObject({
    TURND_TERMINAL_PORT: 6080,
    TURND_TERMINAL_URL: "https://sandbox.example",
    TURND_TERMINAL_ORIGINS: ["http://one.example", "https://two.example:8443"],
  });
});

test("a person's shell gets the allow-list alone", () => {
  const { shellEnv } = readSettings({ PATH: "/bin", MORE: "m", TURND_PASS_ENV: "MORE" }, ROOT);
  expect(Object.keys(shellEnv)).toEqual(["PATH"]);
});

test("the CLIs get the allow-list and what TURND_PASS_ENV names", () => {
  const env = {
    PATH: "/bin",
    LC_ALL: "C",
    https_proxy: "http://p",
    SECRET: "s",
    MORE: "m",
    ALSO: "a",
    OPENCODE_X: "1",
  };
  const { passedEnv } = readSettings({ ...env, TURND_PASS_ENV: "MORE, ALSO" }, ROOT);
  expect(Object.keys(passedEnv).toSorted()).toEqual(["ALSO", "LC_ALL", "MORE", "PATH", "https_proxy"]);
});
