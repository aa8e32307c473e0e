import * as toml from "smol-toml";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cliA } from "../../../../src/turnd/daemon/executors/cli-a/adapter.ts";
import { cliB } from "../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import type { Executor } from "../../../../src/turnd/daemon/executors/contract/executor.ts";
import { secretsOfServers } from "../../../../src/turnd/daemon/executors/secrets/server-secrets.ts";
import { McpServers } from "../../../../src/turnd/protocol/index.ts";

const KEY = "LAB-KEY-1234567890";
const SET_A = {
  CLI_A_API_KEY: KEY,
  CLI_A_MODEL: "m1",
  CLI_A_PROVIDER: "lab",
  CLI_A_BASE_URL: "http://127.0.0.1:8000/v1",
};
const SET_B = { CLI_B_API_KEY: KEY, CLI_B_MODEL: "m1", CLI_B_BASE_URL: "http://127.0.0.1:8000/v1" };
const SERVERS: McpServers = {
  kb: { type: "http", url: "http://127.0.0.1:5050/mcp", headers: { Authorization: "Bearer tok-8f2c61d09b7e" } },
  files: { type: "stdio", command: "mcp-files", args: ["--root", "/w"], env: { MODE: "read" } },
};

function render(executor: Executor, env: Record<string, string>, mcpServers: McpServers): string {
  const result = executor.configure({ env, cliName: executor.defaultName });
  if (!result.ok) throw new Error(result.errors.join("; "));
  const { configuration } = result;
  const cliName = executor.defaultName;
  const plan = executor.planHome({ home: "/h", cliName, configuration, permissions: {}, mode: "execute", mcpServers });
  return plan.files.find(({ path }) => /config\.(?:json|toml)$/.test(path))?.content ?? "";
}

const serversOfA = (env: Record<string, string>, servers: McpServers): unknown =>
  JSON.parse(render(cliA, env, servers)).mcp;
const serversOfB = (env: Record<string, string>, servers: McpServers): unknown =>
  JSON.parse(JSON.stringify(toml.parse(render(cliB, env, servers))["mcp_servers"] ?? null));

/** What no number can hold is read as what it is. */
const EXACT = { integersAsBigInt: "asNeeded" } as const;

describe("a request's MCP servers", () => {
  test("are written in each CLI's own words", () => {
    expect(serversOfA(SET_A, SERVERS)).toEqual({
      kb: {
        type: "remote",
        enabled: true,
        url: "http://127.0.0.1:5050/mcp",
        headers: { Authorization: "Bearer tok-8f2c61d09b7e" },
        oauth: false,
      },
      files: { type: "local", enabled: true, command: ["mcp-files", "--root", "/w"], environment: { MODE: "read" } },
    });
    expect(serversOfB(SET_B, SERVERS)).toEqual({
      kb: {
        url: "http://127.0.0.1:5050/mcp",
        http_headers: { Authorization: "Bearer tok-8f2c61d09b7e" },
        default_tools_approval_mode: "approve",
      },
      files: {
        command: "mcp-files",
        args: ["--root", "/w"],
        env: { MODE: "read" },
        env_vars: ["TRACEPARENT"],
        default_tools_approval_mode: "approve",
      },
    });
    expect(serversOfA(SET_A, {})).toBeUndefined();
    expect(serversOfB(SET_B, {})).toBeNull();
  });

  test("stand beside the operator's, in whatever form those are written, and replace one of the same name", () => {
    const kb: McpServers = { kb: { type: "http", url: "http://127.0.0.1:5050/mcp" } };
    const CLI_A_JSON = JSON.stringify({
      model: "lab/m1",
      mcp: {
        own: { type: "local", command: ["own"] },
        kb: { type: "local", command: ["old"], environment: { A: "1" } },
      },
    });
    expect(serversOfA({ CLI_A_JSON }, kb)).toEqual({
      own: { type: "local", command: ["own"] },
      kb: { type: "remote", enabled: true, url: "http://127.0.0.1:5050/mcp", headers: {}, oauth: false },
    });
    const forms = [
      `[mcp_servers.own]\ncommand = "own"\n[mcp_servers.kb]\ncommand = "old"\n[mcp_servers.kb.env]\nA = "1"\n`,
      `mcp_servers = { own = { command = "own" }, kb = { command = "old" } }\n`,
      `mcp_servers.own.command = "own"\n`,
    ];
    for (const form of forms) {
      const CLI_B_CONFIG_TOML = `at = 2026-11-22T08:00:00+02:00\non = 2026-11-22\nbig = 9007199254740993\nmodel = "m"\n${form}`;
      const text = render(cliB, { CLI_B_CONFIG_TOML }, kb);
      expect(toml.parse(text, EXACT)).toEqual({
        ...toml.parse(CLI_B_CONFIG_TOML, EXACT),
        mcp_servers: {
          own: { command: "own" },
          kb: { url: "http://127.0.0.1:5050/mcp", http_headers: {}, default_tools_approval_mode: "approve" },
        },
      });
      // Not a byte of it is changed where there is nothing to add.
      expect(render(cliB, { CLI_B_CONFIG_TOML }, {})).toBe(CLI_B_CONFIG_TOML);
    }
  });

  test("reach the CLI as they were given, whatever characters they have", () => {
    const value = fc.string({ unit: "grapheme", maxLength: 30 });
    const server = fc.record({
      type: fc.constant("stdio" as const),
      command: value.filter((text) => text !== ""),
      args: fc.array(value, { maxLength: 3 }),
      env: fc.dictionary(fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,9}$/), value, { maxKeys: 3 }),
    });
    const servers = fc.dictionary(fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,9}$/), server, {
      minKeys: 1,
      maxKeys: 3,
    });
    fc.assert(
      fc.property(servers, (given) => {
        const parsed = McpServers.safeParse(given);
        if (!parsed.success) return;
        const names = Object.keys(parsed.data);
        const a = serversOfA(SET_A, parsed.data);
        const b = serversOfB(SET_B, parsed.data);
        for (const name of names) {
          const { command, args, env } = JSON.parse(JSON.stringify(parsed.data[name]));
          expect(a).toHaveProperty([name], {
            type: "local",
            enabled: true,
            command: [command, ...args],
            environment: env,
          });
          expect(b).toHaveProperty([name], {
            command,
            args,
            env,
            env_vars: ["TRACEPARENT"],
            default_tools_approval_mode: "approve",
          });
        }
      }),
    );
  });

  test("hold secrets by the rules of the operator's", () => {
    const found = secretsOfServers({
      kb: {
        type: "http",
        url: "https://h.example/mcp?api_key=url-5c1e9a7740&tenant=7",
        headers: { Authorization: "Bearer hdr-5c1e9a7740", "X-Region": "eu-central-1" },
      },
      files: {
        type: "stdio",
        command: "mcp-files",
        args: ["--root", "/workspace/app", "--token", "arg-5c1e9a7740"],
        env: { SERVICE_TOKEN: "env-5c1e9a7740", MAX_BYTES: "10485760" },
      },
    });
    expect(found.toSorted()).toEqual(["arg", "env", "hdr", "url"].map((name) => `${name}-5c1e9a7740`));
  });
});
