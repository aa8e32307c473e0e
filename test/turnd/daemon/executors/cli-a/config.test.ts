import { describe, expect, test } from "vitest";
import { cliA } from "../../../../../src/turnd/daemon/executors/cli-a/adapter.ts";
import type { Configuration } from "../../../../../src/turnd/daemon/executors/contract/configuration.ts";

const KEY = "LAB-KEY-1234567890";
const SET = {
  CLI_A_API_KEY: KEY,
  CLI_A_MODEL: "org/m1",
  CLI_A_PROVIDER: "lab",
  CLI_A_BASE_URL: "http://127.0.0.1:8000/v1/",
};

function configure(env: Record<string, string>): Configuration {
  const result = cliA.configure({ env, cliName: "cli-a" });
  if (!result.ok) throw new Error(result.errors.join("; "));
  return result.configuration;
}

function errorsOf(env: Record<string, string>): readonly string[] {
  const result = cliA.configure({ env, cliName: "cli-a" });
  return result.ok ? [] : result.errors;
}

const parse = (content: string | undefined) => JSON.parse(content ?? "null");

describe("the single variables", () => {
  test("make the file of the uid-1000 home", () => {
    const { files, model, isConfigured, fault } = configure(SET);
    expect({ path: files[0]?.path, model, isConfigured, fault }).toEqual({
      path: ".config/cli-a/config.json",
      model: "lab/org/m1",
      isConfigured: true,
      fault: undefined,
    });
    expect(parse(files[0]?.content)).toMatchObject({
      model: "lab/org/m1",
      small_model: "lab/org/m1",
      enabled_providers: ["lab"],
      share: "disabled",
      autoupdate: false,
      provider: {
        lab: {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL: "http://127.0.0.1:8000/v1", apiKey: KEY, timeout: 300_000, chunkTimeout: 120_000 },
          models: { "org/m1": {} },
        },
      },
    });
  });

  test("leave no permission on ask", () => {
    const { permission } = parse(configure(SET).files[0]?.content);
    expect(JSON.stringify(permission)).not.toContain("ask");
    expect(Object.keys(permission)[0]).toBe("*");
    expect(permission).toMatchObject({ "*": "allow", doom_loop: "deny", external_directory: { "*": "deny" } });
  });

  test("do not double a provider that the model names already", () => {
    expect(configure({ ...SET, CLI_A_MODEL: "lab/m1" }).model).toBe("lab/m1");
  });

  test("choose Anthropic's package by the provider's name, and its address ends in /v1", () => {
    const env = { ...SET, CLI_A_PROVIDER: "anthropic", CLI_A_BASE_URL: "https://proxy.test/anthropic" };
    const { files, warnings } = configure(env);
    expect(parse(files[0]?.content).provider.anthropic).toMatchObject({
      npm: "@ai-sdk/anthropic",
      options: { baseURL: "https://proxy.test/anthropic/v1" },
    });
    expect(warnings).toEqual([expect.stringContaining("CLI_A_BASE_URL")]);
  });

  test("make the executor unavailable with a package that does not come with the CLI", () => {
    expect(configure({ ...SET, CLI_A_PROVIDER_NPM: "ollama-ai-provider" }).fault).toEqual({
      code: "executor_unavailable",
      message: expect.stringMatching(/^CLI_A_PROVIDER_NPM: .*ollama-ai-provider/),
    });
  });

  test.each(["@ai-sdk/openai", "@ai-sdk/google-vertex/anthropic", "@openrouter/ai-sdk-provider"])(
    "take %s, which comes with the CLI",
    (npm) => expect(configure({ ...SET, CLI_A_PROVIDER_NPM: npm }).fault).toBeUndefined(),
  );

  test("that are half a set name each one that is missing", () => {
    const errors = errorsOf({ CLI_A_API_KEY: KEY, CLI_A_PROVIDER: "", CLI_A_MODEL: "m" });
    expect(errors).toEqual([
      expect.stringContaining("CLI_A_PROVIDER is not set"),
      expect.stringContaining("CLI_A_BASE_URL is not set"),
    ]);
    expect(errors.join()).not.toContain(KEY);
  });

  test.each([
    { CLI_A_BASE_URL: "ftp://x" },
    { CLI_A_BASE_URL: "https://user:secret@x/v1" },
    { CLI_A_BASE_URL: "https://x/v1?key=1" },
    { CLI_A_PROVIDER: "a/b" },
    { CLI_A_PROVIDER_NPM: "../evil" },
    { CLI_A_MODEL: "a\nb" },
    { CLI_A_MODEL: "lab/" },
  ])("that cannot be right are refused by name: %j", (wrong) => {
    const errors = errorsOf({ ...SET, ...wrong });
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(Object.keys(wrong)[0]);
    expect(errors[0]).not.toContain("secret");
  });

  test("are shown with their origin, the key masked", () => {
    const { effective, secrets } = configure(SET);
    expect(effective).toContainEqual({ key: "provider.lab.options.apiKey", value: "***", origin: "CLI_A_API_KEY" });
    expect(effective).toContainEqual({ key: "model", value: "lab/org/m1", origin: "CLI_A_MODEL" });
    expect(effective).toContainEqual({ key: "provider.lab.options.timeout", value: 300_000, origin: "turnd" });
    expect(JSON.stringify(effective)).not.toContain(KEY);
    expect(secrets).toEqual([KEY]);
  });

  test("that are absent leave nothing to render, and the turn a reason", () => {
    expect(configure({ CLI_A_JSON: " " })).toMatchObject({
      isConfigured: false,
      files: [],
      fault: { code: "credential_missing" },
    });
  });
});

describe("CLI_A_JSON", () => {
  const whole = `{
    // a comment with a "quote
    "model": "lab/m1", /* and , ] */
    "provider": { "lab": { "env": ["LAB_LIST"], "options": { "apiKey": "{env:LAB_KEY}", "baseURL": "http://x//y" } } },
    "permission": { "bash": { "git *": "ask" }, "edit": "allow", },
    "agent": { "build": { "permission": "ask" } },
  }`;
  const env = { CLI_A_JSON: whole, LAB_KEY: "value-of-lab-key", LAB_LIST: "listed-value", OTHER: "x" };

  test("is written as it is given", () => {
    expect(configure(env).files).toEqual([{ path: ".config/cli-a/config.json", content: whole }]);
  });

  test("passes on the variables it refers to, and hides their values", () => {
    const { env: passed, secrets } = configure(env);
    expect(passed).toEqual({ LAB_KEY: "value-of-lab-key", LAB_LIST: "listed-value" });
    expect(secrets).toEqual(["value-of-lab-key", "listed-value"]);
  });

  test("makes the executor unavailable with a package of the selected provider that would be fetched from npm", () => {
    const withPackage = (npm: string, model = "lab/m1") =>
      configure({ CLI_A_JSON: JSON.stringify({ model, provider: { lab: { npm }, other: {} } }) }).fault;
    expect(withPackage("ollama-ai-provider")).toMatchObject({ code: "executor_unavailable" });
    expect(withPackage("@ai-sdk/groq")).toBeUndefined();
    expect(withPackage("file:///opt/provider")).toBeUndefined();
    expect(withPackage("ollama-ai-provider", "other/m1")).toBeUndefined();
  });

  test("makes a turn unavailable by the package of the model's own provider", () => {
    const provider = { good: { npm: "@ai-sdk/groq" }, bad: { npm: "ollama-ai-provider" } };
    const faultOf = (config: object, model?: string) =>
      cliA.findFault?.(configure({ CLI_A_JSON: JSON.stringify(config) }), model)?.code;
    expect(faultOf({ model: "good/m", provider }, "bad/m")).toBe("executor_unavailable");
    expect(faultOf({ model: "good/m", provider }, "m2")).toBeUndefined();
    expect(faultOf({ model: "bad/m", provider }, "good/m")).toBeUndefined();
    expect(faultOf({ model: "bad/m", provider }, "m2")).toBe("executor_unavailable");
    expect(faultOf({ provider: { bad: provider.bad } })).toBe("executor_unavailable");
    expect(faultOf({ provider })).toBeUndefined();
    expect(faultOf({ provider: {} })).toBeUndefined();
  });

  test("warns of what it leaves on ask, of variables that are missing and of those it overrules", () => {
    const { warnings } = configure({ CLI_A_JSON: whole, CLI_A_MODEL: "m" });
    expect(warnings).toEqual([
      "CLI_A_MODEL is ignored: CLI_A_JSON is set and wins",
      "CLI_A_JSON refers to LAB_KEY, which is not set",
      'CLI_A_JSON leaves permission.bash.git * on "ask"; no one can answer, so it is denied',
      'CLI_A_JSON leaves agent.build.permission on "ask"; no one can answer, so it is denied',
    ]);
  });

  test("warns of a key that no version knows, which 1.18.33 would ignore", () => {
    const { warnings } = configure({
      CLI_A_JSON: JSON.stringify({ model: "a/b", permision: { bash: "deny" }, lsp: false }),
    });
    expect(warnings).toEqual(["CLI_A_JSON sets permision, which CLI A does not know: 1.18.33 ignores it"]);
  });

  test("masks what it shows", () => {
    const headers = { "x-api-key": "hidden-too", "x-project": "not-shown" };
    const json = JSON.stringify({ provider: { p: { options: { apiKey: KEY, headers } } } });
    const { effective, secrets } = configure({ CLI_A_JSON: json });
    expect(JSON.stringify(effective)).not.toMatch(/LAB-KEY|hidden-too|not-shown/);
    expect(secrets).toEqual([KEY, "hidden-too"]);
  });

  test("takes no ordinary value of an MCP server for a secret", () => {
    const environment = {
      MAX_BYTES: "10485760",
      PROJECT_ROOT: "/workspace",
      SERVICE_TOKEN: "tok-5c1e9a7740",
      WHERE: "{env:ROOT}",
    };
    const command = ["npx", "mcp-files", "--root", "/workspace/app", "--api-key=key-5c1e9a7740"];
    const headers = { Authorization: "Bearer {env:REMOTE}", "X-Region": "{env:REGION}" };
    const mcp = {
      files: { type: "local", command, environment },
      far: { type: "remote", url: "https://x.example/mcp", headers },
    };
    const provider = { cloud: { env: ["CLOUD_REGION", "CLOUD_ID"] } };
    const variables = {
      ROOT: "/workspace/root",
      REMOTE: "far-5c1e9a7740",
      REGION: "eu-central",
      CLOUD_REGION: "eu-central-1",
      CLOUD_ID: "cloudId5c1e9a",
    };
    const { effective, secrets } = configure({ CLI_A_JSON: JSON.stringify({ mcp, provider }), ...variables });
    expect(secrets.toSorted()).toEqual(["cloudId5c1e9a", "far-5c1e9a7740", "key-5c1e9a7740", "tok-5c1e9a7740"]);
    const shown = JSON.stringify(effective);
    expect(shown).toContain("/workspace/app");
    for (const secret of secrets) expect(shown).not.toContain(secret);
  });

  test.each([`{"provider":{"apiKey":"${KEY}" oops}}`, "[]", "{env:X}", '"x"'])(
    "that does not parse to an object is refused without a word of it: %s",
    (json) => {
      const errors = errorsOf({ CLI_A_JSON: json });
      expect(errors).toEqual([expect.stringMatching(/^CLI_A_JSON (?:is not valid|must be)/)]);
      expect(errors.join()).not.toContain(KEY);
    },
  );

  test("reports where it does not parse", () => {
    expect(errorsOf({ CLI_A_JSON: '{\n "a": 1,\n oops }' })).toEqual([
      "CLI_A_JSON is not valid JSON or JSONC (line 3, column 2)",
    ]);
  });
});
