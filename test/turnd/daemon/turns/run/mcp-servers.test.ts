import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, inject, onTestFinished, test } from "vitest";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { fakeEnv } from "../../../../harness/fake-env.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

const TOKEN = "tok-8f2c61d09b7e";
const ARGUMENT = "arg-51f0c7aa93d2";
const SERVERS = {
  kb: { type: "http", url: "http://127.0.0.1:9/mcp?tenant=7", headers: { "X-Api-Key": TOKEN, "X-Tenant": "acme" } },
  files: { type: "stdio", command: "mcp-files", args: [`--token=${ARGUMENT}`], env: { MODE: "read" } },
};
const EXECUTOR = "cli-b";

test("a turn's servers are rendered after kill -9, for that turn alone, and their secrets are not shown", async () => {
  const directory = temporaryDirectory(onTestFinished);
  let turnd = await fakeDaemonIn(directory);
  const hanging = await turnd.admit({ executor: EXECUTOR, input: "hang" });
  const { session_id } = hanging;
  const config = join(turnd.state, "sessions", session_id, "home/fake-cli-b/config.toml");
  await waitFor("the configuration", () => existsSync(config));
  expect(readFileSync(config, "utf8")).not.toContain("mcp_servers");
  const said = `${TOKEN} and ${ARGUMENT} of acme`;
  const body = { session_id, input: `${said}\nshell echo '${said}' >&2\nhang`, mcp_servers: SERVERS };
  const { turn_id } = await turnd.admit({ ...body, request_id: "with-servers" });

  turnd.kill("SIGKILL");
  await turnd.exited;
  turnd = await fakeDaemonIn(directory);
  await turnd.request("POST", `/v1/turns/${hanging.turn_id}/cancel`);
  await waitFor("what it said", async () => (await turnd.events(turn_id)).some(({ type }) => type === "message"));
  const rendered = readFileSync(config, "utf8");
  for (const text of [TOKEN, ARGUMENT, "[mcp_servers.kb.http_headers]", "[mcp_servers.files.env]"]) {
    expect(rendered).toContain(text);
  }
  // The same request, secrets and all; what differs in one of them is another.
  expect((await turnd.request("POST", "/v1/turns", { ...body, request_id: "with-servers" })).status).toBe(200);
  const changed = { ...SERVERS, kb: { ...SERVERS.kb, headers: { "X-Api-Key": "tok-000000000000" } } };
  const conflict = await turnd.request("POST", "/v1/turns", {
    ...body,
    request_id: "with-servers",
    mcp_servers: changed,
  });
  expect(conflict).toMatchObject({ status: 409, body: { detail: { code: "request_id_conflict" } } });

  await turnd.request("POST", `/v1/turns/${turn_id}/cancel`);
  await waitFor("the configuration's removal", () => !existsSync(config));
  // What an earlier turn has read, a later one may repeat.
  const after = await turnd.run({ session_id, input: said });
  expect(after.output).toBe("[redacted] and [redacted] of acme");
  expect(readFileSync(config, "utf8")).not.toContain("mcp_servers");

  const shown = [conflict.text, ...turnd.log];
  for (const id of [turn_id, after.turn_id]) {
    for (const end of ["", "/events", "/result?explain=true", "/recording"]) {
      const { status, text } = await turnd.request("GET", `/v1/turns/${id}${end}`);
      expect(status).toBe(200);
      shown.push(text);
    }
  }
  const env = { ...fakeEnv(directory), TURND_STATE_DIR: turnd.state };
  const copy = join(directory, "copy");
  const command = (...args: string[]) => execa(process.execPath, [inject("turnd"), ...args], { env });
  await command("record", turn_id, copy);
  for (const name of ["turn.json", "stdout.jsonl", "stderr.log", "events.jsonl"]) {
    shown.push(readFileSync(join(copy, name), "utf8"));
  }
  const raw = join(turnd.state, "sessions", session_id, "turns", turn_id);
  shown.push((await command("replay", raw)).stdout, (await command("replay", "--explain", raw)).stdout);
  for (const text of shown) {
    expect(text).not.toContain(TOKEN);
    expect(text).not.toContain(ARGUMENT);
  }
  expect(shown.join("")).toContain("acme");
});

test("what would start a program, expand to another value or break a header is refused, by its field", async () => {
  const turnd = await fakeDaemonIn(temporaryDirectory(onTestFinished));
  const post = (mcp_servers: object, more: object = {}) =>
    turnd.request("POST", "/v1/turns", { executor: EXECUTOR, input: "hello", mcp_servers, ...more });
  const http = (fields: object) => ({ kb: { type: "http", url: "http://127.0.0.1:9/mcp", ...fields } });
  const refused: readonly [object, string][] = [
    [{ "": { type: "http", url: "http://x/" } }, "mcp_servers"],
    [{ "a b": { type: "http", url: "http://x/" } }, "mcp_servers"],
    [{ kb: { type: "sse", url: "http://x/" } }, "mcp_servers.kb.type"],
    [{ kb: { type: "http" } }, "mcp_servers.kb.url"],
    [http({ url: "file:///etc/passwd" }), "mcp_servers.kb.url"],
    [http({ url: "http://user:word@127.0.0.1:9/" }), "mcp_servers.kb.url"],
    [http({ command: "sh" }), "mcp_servers.kb"],
    [http({ headers: { A: "one\nB: two" } }), "mcp_servers.kb.headers.A"],
    [http({ headers: { A: "{env:CLI_A_API_KEY}" } }), "mcp_servers.kb.headers.A"],
    [http({ headers: { A: "x{file:/etc/passwd}" } }), "mcp_servers.kb.headers.A"],
    [{ p: { type: "stdio", command: "" } }, "mcp_servers.p.command"],
    [{ p: { type: "stdio", command: "x", env: { "A=B": "1" } } }, "mcp_servers.p.env"],
    [{ p: { type: "stdio", command: "x", args: ["\u0000"] } }, "mcp_servers.p.args"],
    [
      Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`s${n}`, { type: "http", url: "http://x/" }])),
      "mcp_servers",
    ],
  ];
  for (const [servers, path] of refused) {
    const { status, body } = await post(servers);
    expect({ status, code: body.detail.code }, JSON.stringify(servers)).toEqual({
      status: 422,
      code: "invalid_request",
    });
    expect(body.detail.fields[0].path, JSON.stringify(servers)).toContain(path);
  }
  const program = { p: { type: "stdio", command: "x" } };
  const { body: closed } = await turnd.request("POST", "/v1/sessions", {
    executor: EXECUTOR,
    permissions: { execute: "deny" },
  });
  for (const more of [{ permissions: { execute: "deny" } }, { session_id: closed.session_id }]) {
    const { status, body } = await post(program, more);
    expect(status).toBe(422);
    expect(body.detail.fields).toEqual([{ path: "mcp_servers.p", message: "a program, and the turn may start none" }]);
    expect((await post(http({}), more)).status).toBe(202);
  }
  // Nothing is left of a refused one: its session was not made.
  const { body } = await turnd.request("GET", "/v1/sessions");
  expect(body.sessions).toHaveLength(2);
});
