import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

const SECRET = "kb-51f0c7aa93d2";
const ENV = { TURND_SESSION_SECRETS: "KB_TOKEN, NOT_SET", KB_TOKEN: SECRET, OTHER_TOKEN: "other-token-1234" };
const EXECUTOR = "cli-b";

test("a session keeps references, and its turns get values; a secret, an unknown name and a program are refused", async () => {
  const directory = temporaryDirectory(onTestFinished);
  let turnd = await fakeDaemonIn(directory, ENV);
  const post = (fields: object) => turnd.request("POST", "/v1/sessions", { executor: EXECUTOR, ...fields });
  const http = (headers: object) => ({ mcp_servers: { kb: { type: "http", url: "http://127.0.0.1:9/mcp", headers } } });
  const stdio = { p: { type: "stdio", command: "p", env: { KEY: { from_env: "KB_TOKEN" } } } };
  const refused: readonly [object, string][] = [
    [http({ Authorization: "Bearer tok-8f2c61d09b7e" }), "mcp_servers.kb"],
    [http({ A: { from_env: "OTHER_TOKEN" } }), "mcp_servers.kb.headers.A"],
    [http({ A: { from_env: "NOT_SET" } }), "mcp_servers.kb.headers.A"],
    [http({ A: { from_env: "TURND_TOKEN" } }), "mcp_servers.kb.headers.A"],
    [http({ A: { from_env: "toString" } }), "mcp_servers.kb.headers.A"],
    [http({ A: { from_env: "KB_TOKEN", prefix: "a\nb: " } }), "mcp_servers.kb.headers.A"],
    [http({ A: { from_env: "KB_TOKEN", prefix: "{env:" } }), "mcp_servers.kb.headers.A"],
    [http({ A: { from_env: "KB_TOKEN", more: 1 } }), "mcp_servers.kb.headers.A"],
    [http({ "a b": { from_env: "KB_TOKEN" } }), "mcp_servers.kb.headers"],
    [{ mcp_servers: stdio, permissions: { execute: "deny" } }, "mcp_servers.p"],
    [{ instructions: " " }, "instructions"],
    [{ instructions: "a\u0000" }, "instructions"],
    [{ instructions: "ä".repeat(32_769) }, "instructions"],
  ];
  for (const [fields, path] of refused) {
    const { status, body } = await post(fields);
    expect([status, body.detail.code, body.detail.fields?.[0].path], JSON.stringify(fields)).toEqual([
      422,
      "invalid_request",
      expect.stringContaining(path),
    ]);
  }

  const given = http({ Authorization: { from_env: "KB_TOKEN", prefix: "Bearer " }, "X-Tenant": "acme" });
  const mcp_servers = { ...given.mcp_servers, ...stdio };
  const made = await post({ mcp_servers, instructions: "Be brief." });
  expect(made).toMatchObject({ status: 201, body: { mcp_servers, instructions: "Be brief." } });
  const { session_id } = made.body;
  const root = join(turnd.state, "sessions", session_id);
  const config = join(root, "home/fake-cli-b/config.toml");
  /** What the CLI of a turn is given. */
  const configOf = async (fields: object): Promise<string> => {
    const { turn_id } = await turnd.admit({ session_id, input: "hang", ...fields });
    await waitFor("the turn", async () => (await turnd.events(turn_id)).some(({ type }) => type === "turn.started"));
    await waitFor("its configuration", () => existsSync(config));
    const text = readFileSync(config, "utf8");
    await turnd.request("POST", `/v1/turns/${turn_id}/cancel`);
    await waitFor("the configuration's removal", () => !existsSync(config));
    return text;
  };
  const first = await configOf({});
  for (const text of [`"Bearer ${SECRET}"`, `KEY = "${SECRET}"`, 'developer_instructions = "Be brief."']) {
    expect(first).toContain(text);
  }
  const closed = await configOf({ permissions: { execute: "deny" } });
  expect(closed).toContain("[mcp_servers.kb");
  expect(closed).not.toContain("[mcp_servers.p");
  const replaced = await configOf({ mcp_servers: { kb: { type: "http", url: "http://127.0.0.1:9/of-the-turn" } } });
  expect(replaced).toContain("/of-the-turn");
  expect(replaced).not.toContain("Bearer");
  const said = await turnd.run({ session_id, input: `${SECRET} is printed` });
  expect(said.output).toBe("[redacted] is printed");
  const { text: shown } = await turnd.request("GET", `/v1/sessions/${session_id}`);
  for (const text of [shown, readFileSync(join(root, "session.json"), "utf8"), ...turnd.log]) {
    expect(text).not.toContain(SECRET);
  }

  // Where the operator has taken the variable away, no turn runs with half of a server.
  await turnd.stop();
  turnd = await fakeDaemonIn(directory, { TURND_SESSION_SECRETS: "" });
  expect(await turnd.run({ session_id, input: "hello" })).toMatchObject({
    status: "failed",
    failure: { code: "config_invalid", message: expect.stringContaining("KB_TOKEN") },
  });
});
