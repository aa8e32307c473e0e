import { describe, expect, test } from "vitest";
import { cliA } from "../../../../../src/turnd/daemon/executors/cli-a/adapter.ts";
import type { HomeInput, HomePlan } from "../../../../../src/turnd/daemon/executors/contract/invocation.ts";

const SET = {
  CLI_A_API_KEY: "LAB-KEY-1234567890",
  CLI_A_MODEL: "m1",
  CLI_A_PROVIDER: "lab",
  CLI_A_BASE_URL: "http://127.0.0.1:8000/v1",
};

function plan(env: Record<string, string>, input: Partial<HomeInput> = {}, cliName = "opencode"): HomePlan {
  const result = cliA.configure({ env, cliName });
  if (!result.ok) throw new Error(result.errors.join("; "));
  const { configuration } = result;
  return cliA.planHome({ home: "/s/home", cliName, configuration, permissions: {}, mode: "execute", ...input });
}

function configOf({ files }: HomePlan) {
  return JSON.parse(files.find(({ path }) => path.endsWith("/config.json"))?.content ?? "null");
}

const whole = (config: Record<string, unknown>): Record<string, string> => ({
  CLI_A_JSON: JSON.stringify({ model: "lab/m1", provider: { lab: { models: { m1: {} } } }, ...config }),
});

describe("a session's home", () => {
  test("holds all four directories of the CLI and its configuration", () => {
    const { directories, files, env } = plan(SET, {}, "cli-a");
    expect(directories).toEqual(expect.arrayContaining(["data/cli-a", "cache", "state", "config/cli-a/node_modules"]));
    expect(files[0]?.path).toBe("config/cli-a/config.json");
    expect(env).toMatchObject({
      XDG_DATA_HOME: "/s/home/data",
      XDG_CONFIG_HOME: "/s/home/config",
      XDG_CACHE_HOME: "/s/home/cache",
      XDG_STATE_HOME: "/s/home/state",
      CLI_A_DISABLE_PROJECT_CONFIG: "1",
      CLI_A_DISABLE_MODELS_FETCH: "1",
      CLI_A_TEST_HOME: "/s/home",
    });
  });

  test("serves a binary under the name it was built with too", () => {
    const { directories, files, forbidden, kept, plain, env } = plan(SET, {}, "cli-a");
    expect(directories).toContain("config/opencode/node_modules");
    const [ours, own] = files.filter(({ path }) => path.endsWith("/config.json"));
    expect(own).toEqual({ path: "config/opencode/config.json", content: ours?.content });
    expect(forbidden).toEqual(expect.arrayContaining([".opencode", "data/opencode/auth.json"]));
    expect(kept?.map(({ path }) => path)).toContain("config/opencode");
    expect(plain).toContain("data/opencode");
    expect(env).toMatchObject({ OPENCODE_DISABLE_PROJECT_CONFIG: "1", OPENCODE_TEST_HOME: "/s/home" });
    expect(plan(SET).files.filter(({ path }) => path.endsWith("/config.json"))).toHaveLength(1);
  });

  test("keeps no configuration but what is written for the turn, and of what the CLI leaves its store alone", () => {
    const { kept, emptied, leftovers } = plan(SET);
    expect(kept).toMatchObject([{ path: "config/opencode", names: [] }]);
    expect(emptied).toEqual(["cache/opencode", "state/opencode"]);
    expect(leftovers).toEqual(expect.arrayContaining(["data/opencode/storage", "data/opencode/snapshot"]));
    expect(leftovers).not.toContain("data/opencode/opencode.db");
  });

  test("keeps the key out of the environment", () => {
    expect(JSON.stringify(plan(SET).env)).not.toContain("LAB-KEY");
  });

  test("switches off what was not asked for, unless a whole configuration decides", () => {
    const off = { share: "disabled", autoupdate: false, snapshot: false, formatter: false, lsp: false };
    expect(configOf(plan(SET))).toMatchObject(off);
    expect(configOf(plan(whole({ snapshot: true })))).toMatchObject({ ...off, snapshot: true });
    const own = whole({ formatter: {}, lsp: { a: { command: ["a"] } } });
    expect(configOf(plan(own))).toMatchObject({ formatter: {}, lsp: { a: { command: ["a"] } } });
    for (const turn of [{ permissions: { execute: "deny" } }, { mode: "plan" }] as const) {
      expect(configOf(plan(own, turn))).toMatchObject({ formatter: false, lsp: false });
    }
  });

  test("has every provider a turn can ask close its connections, unless a whole configuration decides", () => {
    const headersOf = (env: Record<string, string>, input?: Partial<HomeInput>) =>
      Object.entries<{ options: { headers: unknown } }>(configOf(plan(env, input)).provider).map(
        ([id, { options }]) => [id, options.headers],
      );
    const close = { Connection: "close" };
    expect(headersOf(SET)).toEqual([["lab", close]]);
    const own = whole({
      provider: {
        lab: { options: { headers: { connection: "keep-alive" } } },
        other: { options: { headers: { a: "b" } } },
      },
      small_model: "small/m",
      agent: { x: { model: "agents/m" } },
    });
    expect(headersOf(own, { model: "asked/m" })).toEqual([
      ["lab", { connection: "keep-alive" }],
      ["other", { a: "b", ...close }],
      ["small", close],
      ["agents", close],
    ]);
    expect(headersOf(whole({ provider: {}, model: "catalogue/m" }), { model: "m2" })).toEqual([["catalogue", close]]);
    expect(configOf(plan(whole({ provider: "wrong" }))).provider).toBe("wrong");
  });

  test("names the CLI's own version as that of its plugin package", () => {
    const { files } = plan(SET, { cliVersion: "1.3.2" });
    const manifest = files.find(({ path }) => path === "config/opencode/package.json");
    expect(JSON.parse(manifest?.content ?? "")).toEqual({ dependencies: { "@opencode-ai/plugin": "1.3.2" } });
  });

  test("of an operator who configured nothing has no configuration", () => {
    expect(plan({}).files).toEqual([]);
  });
});

describe("the model of a request", () => {
  test.each(["m2", "lab/m2"])("%s is listed, since the CLI has only what its configuration lists", (model) => {
    expect(Object.keys(configOf(plan(SET, { model })).provider.lab.models)).toEqual(["m1", "m2"]);
  });

  test("is listed in a whole configuration too, and what is there is left alone", () => {
    const listed = configOf(plan(whole({}), { model: "m2" })).provider.lab.models;
    expect(listed.m1).toEqual({});
    expect(Object.keys(listed)).toEqual(["m1", "m2"]);
  });

  test("of a provider that is not configured is left to the CLI", () => {
    expect(Object.keys(configOf(plan(whole({}), { model: "elsewhere/m2" })).provider)).toEqual(["lab"]);
  });
});

describe("permissions", () => {
  const permissionOf = (env: Record<string, string>, input: Partial<HomeInput> = {}) => {
    const made = plan(env, input);
    const { permission } = configOf(made);
    // The variable wins over every file, in the same order of rules.
    expect(made.env["OPENCODE_PERMISSION"]).toBe(JSON.stringify(permission));
    return permission;
  };

  test("a planning turn can neither edit nor run commands", () => {
    const permission = permissionOf(SET, { mode: "plan" });
    expect(permission).toMatchObject({ edit: "deny", bash: "deny" });
    // The last rule that matches wins.
    expect(Object.keys(permission).slice(-2)).toEqual(["edit", "bash"]);
  });

  test.each([
    [{ edit: "deny" }, ["edit", "bash"]],
    [{ execute: "deny" }, ["bash"]],
    [{ network: "deny" }, ["webfetch", "websearch", "codesearch", "bash"]],
  ] as const)("a session with %j is denied %j", (permissions, keys) => {
    const permission = permissionOf(SET, { permissions });
    expect(Object.keys(permission).slice(-keys.length)).toEqual(keys);
    for (const key of keys) expect(permission[key]).toBe("deny");
  });

  test("what a whole configuration leaves on ask is denied", () => {
    const permission = { bash: { "*": "allow", "rm *": "ask" }, webfetch: "ask" };
    expect(permissionOf(whole({ permission }))).toMatchObject({
      bash: { "*": "allow", "rm *": "deny" },
      webfetch: "deny",
      doom_loop: "deny",
      external_directory: { "*": "deny" },
    });
  });

  test("what a whole configuration allows stands after what the CLI would ask for", () => {
    const permission = { external_directory: { "/data/*": "allow" } };
    expect(Object.entries(permissionOf(whole({ permission })).external_directory)).toEqual([
      ["*", "deny"],
      ["/data/*", "allow"],
    ]);
  });

  test.each(["allow", { "*": "allow" }])("a rule for everything stays one: %j", (permission) => {
    expect(permissionOf(whole({ permission }))).toEqual({ "*": "allow" });
  });

  test("an agent of the configuration is tightened too", () => {
    const agent = {
      plan: { permission: { edit: "allow", webfetch: "ask" }, tools: { write: true, read: true } },
      own: {},
    };
    const config = configOf(plan(whole({ agent, tools: { bash: true, grep: true } }), { mode: "plan" }));
    expect(config.agent).toEqual({
      plan: { permission: { webfetch: "deny", edit: "deny", bash: "deny" }, tools: { read: true } },
      own: {},
    });
    expect(config.tools).toEqual({ grep: true });
  });
});
