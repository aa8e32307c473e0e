import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startMcpServer } from "../harness/mcp-server.ts";
import { PINNED_CLIS, shareStage } from "../harness/real-daemon.ts";
import { waitFor } from "../harness/wait-for.ts";

const TOKEN = "tok-8f2c61d09b7e";
const SESSION_TOKEN = "session-tok-31c7a90be2";
/** A server of one tool, in as much of the protocol as a CLI needs; every Debian has what runs it. */
const PROGRAM = String.raw`$| = 1;
while (<STDIN>) {
    my ($id) = /"id":\s*(\d+)/ or next;
    my $result =
        /"method":\s*"initialize"/ ? '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}'
      : /"method":\s*"tools\/list"/ ? '{"tools":[{"name":"ping","description":"Answers.","inputSchema":{"type":"object","properties":{}}}]}'
      : /"method":\s*"tools\/call"/ ? qq({"content":[{"type":"text","text":"pong $ENV{GREETING}, of $ENV{TRACEPARENT}"}]})
      : '{}';
    print qq({"jsonrpc":"2.0","id":$id,"result":$result}\n);
}`;

describe.each(PINNED_CLIS)("$executor $version", (cli) => {
  const stage = shareStage(cli, { env: { TURND_SESSION_SECRETS: "KB_TOKEN", KB_TOKEN: SESSION_TOKEN } });
  const { executor } = cli;

  test("every turn of a session has its servers and its instructions, within its permissions", async () => {
    const { turnd, model } = stage();
    const server = await startMcpServer();
    const instructions = "Answer like the keeper of a lighthouse.\nNever name the ship Ærø-7.";
    const made = await turnd.request("POST", "/v1/sessions", {
      executor,
      instructions,
      mcp_servers: {
        words: {
          type: "http",
          url: server.url,
          headers: { Authorization: { from_env: "KB_TOKEN", prefix: "Bearer " } },
        },
        local: { type: "stdio", command: "perl", args: ["-e", PROGRAM], env: { GREETING: { from_env: "KB_TOKEN" } } },
      },
    });
    expect(made.status).toBe(201);
    const { session_id } = made.body;
    /** Whether the model got the instructions in the requests of a turn, by what is in none of its input. */
    const isTold = (since: number): boolean =>
      model.requests.slice(since).some(({ body }) => {
        const sent = JSON.stringify(body);
        return sent.includes("keeper of a lighthouse") && sent.includes("Ærø-7");
      });
    let before = model.requests.length;
    const first = await turnd.run({ session_id, input: '@@mcp:words lookup {"word":"anchor"}@@' });
    expect(first.output).toContain("anchor is known, asked with Bearer [redacted]");
    expect(isTold(before)).toBe(true);
    expect(server.seen.every((headers) => headers["authorization"] === `Bearer ${SESSION_TOKEN}`)).toBe(true);
    // A program has the caller's trace, as the CLI's own tools have.
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    before = model.requests.length;
    const traced = { session_id, input: "@@mcp:local ping {}@@" };
    const { body: turn } = await turnd.request("POST", "/v1/turns?wait_ms=100000", traced, { traceparent });
    expect(turn.output).toContain(`pong [redacted], of ${traceparent}`);
    expect(isTold(before)).toBe(true);
    const closed = { session_id, permissions: { execute: "deny" } };
    const noProgram = await turnd.run({ ...closed, input: "@@mcp:local ping {}@@" });
    if (noProgram.failure?.code !== "sandbox_unavailable") expect(noProgram.output).not.toContain("pong");
    const { text: events } = await turnd.request("GET", `/v1/sessions/${session_id}/events?follow=false`);
    const stored = readFileSync(join(turnd.state, "sessions", session_id, "session.json"), "utf8");
    const { text: shown } = await turnd.request("GET", `/v1/sessions/${session_id}`);
    for (const text of [events, stored, shown, ...turnd.log]) expect(text).not.toContain(SESSION_TOKEN);
  });

  test("a turn calls the tools of the servers that its request names, and has its own instructions; no other turn does", async () => {
    const { turnd, model } = stage();
    const server = await startMcpServer();
    const mcp_servers = {
      words: { type: "http", url: server.url, headers: { Authorization: `Bearer ${TOKEN}` } },
      local: { type: "stdio", command: "perl", args: ["-e", PROGRAM], env: { GREETING: "from a program" } },
    };
    const input = '@@mcp:words lookup {"word":"anchor"}@@';
    /** How often the model got a text in the last request of a turn, which has no word of it in its input. */
    const timesGiven = (text: string): number => JSON.stringify(model.requests.at(-1)?.body).split(text).length - 1;
    const instructions = "Answer like a lighthouse keeper.";
    const asked = { executor, input, instructions, request_id: "request-1" };
    const first = await turnd.run({ ...asked, mcp_servers });
    expect(timesGiven("lighthouse keeper")).toBe(1);
    expect(first).toMatchObject({ status: "completed" });
    expect(first.output).toContain("anchor is known, asked with Bearer [redacted]");
    expect(server.seen.every((headers) => headers["authorization"] === `Bearer ${TOKEN}`)).toBe(true);

    const { session_id, turn_id } = first;
    const { text: events } = await turnd.request("GET", `/v1/turns/${turn_id}/events`);
    expect(events).toContain('"kind":"mcp"');
    const served = [
      events,
      ...(await Promise.all(
        [`/v1/turns/${turn_id}`, `/v1/turns/${turn_id}/result?explain=true`, `/v1/turns/${turn_id}/recording`].map(
          async (path) => (await turnd.request("GET", path)).text,
        ),
      )),
      ...turnd.log,
    ];
    for (const text of served) expect(text).not.toContain(TOKEN);

    // The same request is the same turn, with the same servers alone.
    expect((await turnd.request("POST", "/v1/turns", { ...asked, mcp_servers })).status).toBe(200);
    const { words } = mcp_servers;
    const other = await turnd.request("POST", "/v1/turns", { ...asked, mcp_servers: { words } });
    expect(other).toMatchObject({ status: 409, body: { detail: { code: "request_id_conflict" } } });

    // Its configuration goes with it.
    const config = executor === "cli-a" ? "config/opencode/config.json" : "codex/config.toml";
    const path = join(turnd.state, "sessions", session_id, "home", config);
    const read = (): string => {
      try {
        return readFileSync(path, "utf8");
      } catch {
        return "";
      }
    };
    await waitFor("the configuration without the key", () => !read().includes(TOKEN));

    const { local } = mcp_servers;
    const changed = { session_id, instructions: "Answer like a harbour master." };
    const ping = { input: "@@mcp:local ping {}@@", mcp_servers: { local } };
    const second = await turnd.run({ ...changed, ...ping });
    expect(second).toMatchObject({ status: "completed", resumed: true, degraded: false });
    expect(timesGiven("harbour master")).toBe(1);
    expect(second.output).toContain("pong from a program");
    // Where the CLI's own sandbox is on, too.
    const plan = await turnd.run({ executor, input, mcp_servers: { words }, mode: "plan" });
    if (plan.failure?.code !== "sandbox_unavailable") expect(plan.output).toContain("anchor is known");
    // What has not changed is not sent a second time in one conversation.
    const third = await turnd.run({ ...changed, input });
    expect(timesGiven("harbour master")).toBe(1);
    // Neither those of other requests nor those of another session.
    expect(third.output).toContain("no tool on offer can do that");
    expect(third.output).not.toMatch(/words|local/);
  });
});
