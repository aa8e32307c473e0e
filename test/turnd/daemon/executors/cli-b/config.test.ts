import { readDetails } from "../../../../../src/turnd/daemon/executors/cli-b/config/details.ts";
import { homeOverrides } from "../../../../../src/turnd/daemon/executors/cli-b/config/own-home.ts";
import * as toml from "smol-toml";
import { describe, expect, test } from "vitest";
import { cliB } from "../../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import type { Configuration } from "../../../../../src/turnd/daemon/executors/contract/configuration.ts";

const KEY = "FAKE-LAB-KEY-A";
const SET = { CLI_B_API_KEY: KEY, CLI_B_MODEL: "some-model", CLI_B_BASE_URL: "https://models.example/v1/" };

function configured(env: Record<string, string>): Configuration {
  const result = cliB.configure({ env, cliName: "codex" });
  if (!result.ok) throw new Error(result.errors.join("; "));
  return result.configuration;
}

function errorsOf(env: Record<string, string>): readonly string[] {
  const result = cliB.configure({ env, cliName: "codex" });
  return result.ok ? [] : result.errors;
}

const WHOLE = `# mine
model = "m"
model_provider = "mine"
[model_providers.mine]
name = "mine"
base_url = "https://user:pass-word@models.example/v1"
env_key = "MY_CRED"
http_headers = { "X-Key" = "sk-secret-header" }
`;

describe("single variables", () => {
  test("key, model and base URL make a configuration that never holds the key", () => {
    const { files, env, model, isConfigured, secrets } = configured(SET);
    expect(isConfigured).toBe(true);
    expect(files.map(({ path }) => path)).toEqual([".codex/config.toml"]);
    expect(env).toEqual({ CLI_B_API_KEY: KEY });
    expect(secrets).toEqual([KEY]);
    expect(model).toBe("some-model");
    const content = files[0]?.content ?? "";
    expect(content).not.toContain(KEY);
    expect(toml.parse(content)).toMatchObject({
      model: "some-model",
      model_provider: "turnd",
      approval_policy: "never",
      sandbox_mode: "workspace-write",
      model_providers: {
        turnd: { base_url: "https://models.example/v1", wire_api: "responses", env_key: "CLI_B_API_KEY" },
      },
      features: { shell_snapshot: false, goals: false, plugins: false, hooks: false, multi_agent: false },
      analytics: { enabled: false },
    });
  });

  test.each([
    [{ CLI_B_ENV_KEY: "MY_CRED", MY_CRED: KEY }, "MY_CRED"],
    [{ OPENAI_API_KEY: KEY }, "OPENAI_API_KEY"],
    [{ OPENAI_API_KEY: "other", CLI_B_API_KEY: KEY }, "CLI_B_API_KEY"],
  ])("the key of %j is passed on as %s, and tools do not see it", (variables, name) => {
    const { env, files } = configured({ CLI_B_MODEL: "m", CLI_B_BASE_URL: "http://127.0.0.1:1/v1", ...variables });
    expect(env).toEqual({ [name]: KEY });
    expect(toml.parse(files[0]?.content ?? "")).toMatchObject({
      shell_environment_policy: { exclude: expect.arrayContaining([name]) },
    });
  });

  test("OPENAI_API_KEY alone configures nothing", () => {
    const configuration = configured({ OPENAI_API_KEY: KEY, CLI_B_SANDBOX_MODE: "read-only", CLI_B_MODEL: " " });
    expect(configuration).toMatchObject({
      isConfigured: false,
      files: [],
      env: {},
      fault: { code: "credential_missing" },
    });
  });

  test.each([
    [{ CLI_B_API_KEY: KEY }, ["CLI_B_MODEL", "CLI_B_BASE_URL"]],
    [{ CLI_B_MODEL: "m", CLI_B_API_KEY: KEY }, ["CLI_B_BASE_URL"]],
    [{ CLI_B_MODEL: "m", CLI_B_BASE_URL: "http://x/v1" }, ["CLI_B_API_KEY"]],
    [{ ...SET, CLI_B_API_KEY: "", CLI_B_ENV_KEY: "NOT_SET" }, ["NOT_SET"]],
  ])("half a set names what is missing: %#", (env, missing) => {
    const errors = errorsOf(env);
    expect(errors).toHaveLength(missing.length);
    missing.forEach((name, index) => expect(errors[index]).toContain(name));
    expect(errors.join()).not.toContain(KEY);
  });

  test.each(["not a url", "ftp://x/v1", "https://me:secret@x/v1", "https://x/v1?key=secret"])(
    "the base URL %s is refused without being quoted",
    (url) => {
      const errors = errorsOf({ ...SET, CLI_B_BASE_URL: url });
      expect(errors).toHaveLength(1);
      expect(errors[0]).toContain("CLI_B_BASE_URL");
      expect(errors[0]).not.toContain("secret");
    },
  );

  test("an unknown sandbox mode is refused with what is allowed", () => {
    expect(errorsOf({ ...SET, CLI_B_SANDBOX_MODE: "none" })).toEqual([
      'CLI_B_SANDBOX_MODE must be one of read-only, workspace-write, danger-full-access, got "none"',
    ]);
  });

  test("people see every value with its origin, the key masked", () => {
    const { effective } = configured(SET);
    expect(effective).toContainEqual({ key: "CLI_B_API_KEY", value: "***", origin: "CLI_B_API_KEY" });
    expect(effective).toContainEqual({ key: "model", value: "some-model", origin: "CLI_B_MODEL" });
    expect(effective).toContainEqual({ key: "approval_policy", value: "never", origin: "turnd" });
    expect(JSON.stringify(effective)).not.toContain(KEY);
  });
});

describe("CLI_B_CONFIG_TOML", () => {
  test("is written as given, its key variable passed on", () => {
    const { files, env, model } = configured({ CLI_B_CONFIG_TOML: WHOLE, MY_CRED: KEY });
    expect(files).toEqual([{ path: ".codex/config.toml", content: WHOLE }]);
    expect(env).toEqual({ MY_CRED: KEY });
    expect(model).toBe("m");
  });

  test("secrets in it are masked and listed for redaction", () => {
    const { effective, secrets } = configured({ CLI_B_CONFIG_TOML: WHOLE, MY_CRED: KEY });
    const shown = JSON.stringify(effective);
    for (const secret of ["sk-secret-header", "pass-word", KEY]) {
      expect(secrets).toContain(secret);
      expect(shown).not.toContain(secret);
    }
    expect(shown).toContain("https://***@models.example/v1");
    expect(effective).toContainEqual(
      expect.objectContaining({ key: "model_providers.mine.env_key", value: "MY_CRED" }),
    );
  });

  test("wins over the single variables, with a warning that names them", () => {
    const { warnings, model } = configured({ ...SET, CLI_B_CONFIG_TOML: WHOLE, MY_CRED: KEY });
    expect(model).toBe("m");
    expect(warnings).toEqual([
      "CLI_B_CONFIG_TOML wins: CLI_B_MODEL, CLI_B_BASE_URL, CLI_B_API_KEY set as well, not used",
    ]);
  });

  test.each(["chat", "websocket"])("wire_api %s makes the executor unavailable before anything starts", (wireApi) => {
    const { fault } = configured({ CLI_B_CONFIG_TOML: `${WHOLE}wire_api = "${wireApi}"\n`, MY_CRED: KEY });
    expect(fault).toMatchObject({ code: "executor_unavailable" });
    expect(fault?.message).toContain(wireApi);
  });

  test("a key variable that is not set is a missing credential", () => {
    const { fault } = configured({ CLI_B_CONFIG_TOML: WHOLE });
    expect(fault).toMatchObject({ code: "credential_missing" });
    expect(fault?.message).toContain("MY_CRED");
  });

  test("text that does not parse is refused by its place, not its content", () => {
    const [error] = errorsOf({ CLI_B_CONFIG_TOML: 'model = "sk-secret\nx = 1\n' });
    expect(error).toMatch(/^CLI_B_CONFIG_TOML is not valid TOML at line 1, column \d+$/);
  });

  test("its sandbox mode wins over CLI_B_SANDBOX_MODE", () => {
    const env = { CLI_B_CONFIG_TOML: `sandbox_mode = "read-only"\n${WHOLE}`, MY_CRED: KEY };
    const { warnings } = configured({ ...env, CLI_B_SANDBOX_MODE: "danger-full-access" });
    expect(warnings.join()).toContain("CLI_B_SANDBOX_MODE");
  });

  test("variables it hands to MCP servers are passed on and are no secrets", () => {
    const text = `${WHOLE}[mcp_servers.x]\ncommand = "x"\nenv_vars = ["STAGE"]\nbearer_token_env_var = "X_TOKEN"\n`;
    const { env, secrets } = configured({
      CLI_B_CONFIG_TOML: text,
      MY_CRED: KEY,
      STAGE: "prod",
      X_TOKEN: "FAKE-TOKEN-X",
    });
    expect(env).toEqual({ MY_CRED: KEY, STAGE: "prod", X_TOKEN: "FAKE-TOKEN-X" });
    expect(secrets).toContain("FAKE-TOKEN-X");
    expect(secrets).not.toContain("prod");
  });

  test("what no turn can run with is not used, and the operator gets a warning", () => {
    const text = `${WHOLE}[features]\ngoals = true\nplugins = true\n`;
    const { files, warnings, effective } = configured({ CLI_B_CONFIG_TOML: text, MY_CRED: KEY });
    expect(files).toEqual([{ path: ".codex/config.toml", content: text }]);
    expect(warnings).toEqual(["features.goals in CLI_B_CONFIG_TOML is not used: no turn can run with it"]);
    expect(effective.filter(({ key }) => key === "features.goals")).toEqual([
      { key: "features.goals", value: false, origin: "turnd" },
    ]);
    expect(effective).toContainEqual({ key: "features.plugins", value: true, origin: "CLI_B_CONFIG_TOML" });
  });

  test("no ordinary value of an MCP server is a secret", () => {
    const text = `${WHOLE}[mcp_servers.files]
command = "mcp-files"
args = ["--root", "/workspace/app", "--token", "arg-5c1e9a7740"]
[mcp_servers.files.env]
MAX_BYTES = "10485760"
PROJECT_ROOT = "/workspace"
SERVICE_TOKEN = "tok-5c1e9a7740"
[mcp_servers.far]
url = "https://far.example/mcp?api_key=url-5c1e9a7740"
[mcp_servers.far.http_headers]
X-Project = "my-project"
Authorization = "Bearer hdr-5c1e9a7740"
[mcp_servers.far.env_http_headers]
X-Region = "REGION"
X-Api-Key = "FAR"
`;
    const variables = { MY_CRED: KEY, REGION: "eu-central-1", FAR: "var-5c1e9a7740" };
    const { effective, secrets } = configured({ CLI_B_CONFIG_TOML: text, ...variables });
    const found = ["arg", "hdr", "tok", "url", "var"].map((name) => `${name}-5c1e9a7740`);
    for (const secret of found) expect(secrets).toContain(secret);
    for (const ordinary of ["10485760", "/workspace", "my-project", "eu-central-1", "/workspace/app", "X-Region"]) {
      expect(secrets).not.toContain(ordinary);
    }
    const shown = JSON.stringify(effective);
    expect(shown).toContain("/workspace/app");
    for (const secret of secrets) expect(shown).not.toContain(secret);
  });

  test("a built-in provider gets the key under the CLI's own name", () => {
    const { env, warnings } = configured({ CLI_B_CONFIG_TOML: 'model = "m"\n', CLI_B_API_KEY: KEY });
    expect(env).toEqual({ CODEX_API_KEY: KEY });
    expect(warnings.join()).toContain("built-in");
  });
});

describe("a session's home", () => {
  const plan = (configuration: Configuration, mode: "execute" | "plan" = "execute") =>
    cliB.planHome({ home: "/s/home", cliName: "cli-b", configuration, permissions: {}, mode });

  test("is a directory that the CLI's home variable points to", () => {
    const { directories, env } = plan(configured(SET));
    expect(directories).toEqual(["cli-b"]);
    expect(env).toMatchObject({ CLI_B_HOME: "/s/home/cli-b", CODEX_HOME: "/s/home/cli-b" });
  });

  test("holds the configuration, tightened for a planning turn", () => {
    const { files } = plan(configured({ ...SET, CLI_B_SANDBOX_MODE: "danger-full-access" }), "plan");
    expect(files.map(({ path }) => path)).toEqual(["cli-b/config.toml"]);
    expect(toml.parse(files[0]?.content ?? "")).toMatchObject({ sandbox_mode: "read-only" });
  });

  test("holds a whole configuration as given", () => {
    const { files } = plan(configured({ CLI_B_CONFIG_TOML: WHOLE, MY_CRED: KEY }), "plan");
    expect(files).toEqual([{ path: "cli-b/config.toml", content: WHOLE }]);
  });

  test("holds no other file that would change what the CLI does", () => {
    const { kept = [] } = plan(configured(SET));
    const names = ["sessions", "generated_images", "installation_id"];
    expect(kept.map(({ path, names: those }) => [path, those])).toEqual([
      ["cli-b/skills", []],
      ["cli-b", names],
    ]);
  });

  test("is not where the CLI looks for its user's home; what it starts finds that all the same", () => {
    const { env, emptied } = plan(configured(SET));
    expect(env["HOME"]).toMatch(/\/cli-b-home$/);
    expect(emptied).toEqual(["cli-b-home"]);
    const whole = `${WHOLE}
[mcp_servers."with.dot"]
command = "x"
[mcp_servers.own]
command = "x"
env = { HOME = "/own" }
[mcp_servers.far]
url = "http://127.0.0.1:9"
`;
    const given = configured({ CLI_B_CONFIG_TOML: whole, MY_CRED: KEY });
    expect(homeOverrides(readDetails(given), "/home/user")).toEqual([
      'shell_environment_policy.set.HOME="/home/user"',
      expect.stringContaining('"with.dot"={env={HOME="/home/user"}}'),
    ]);
    expect(homeOverrides(readDetails(given), "/home/user")[1]).not.toMatch(/own|far/);
    const own = configured({
      CLI_B_CONFIG_TOML: `${whole}[shell_environment_policy.set]\nHOME = "/own"\n`,
      MY_CRED: KEY,
    });
    expect(homeOverrides(readDetails(own), "/home/user")).toHaveLength(1);
  });

  test("an operator's path in a home is warned of, one of an MCP server is its own", () => {
    const warnings = (text: string): readonly string[] =>
      configured({ CLI_B_CONFIG_TOML: text, MY_CRED: KEY }).warnings;
    expect(warnings(`model_instructions_file = "~/x.md"\n${WHOLE}`).join()).toContain("~ in CLI_B_CONFIG_TOML");
    expect(warnings(`${WHOLE}\n[mcp_servers.x]\ncommand = "~/x"\n`).join()).not.toContain("~ in");
  });
});
