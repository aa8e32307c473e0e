import * as toml from "smol-toml";
import { describe, expect, test } from "vitest";
import { cliB } from "../../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import type { Configuration } from "../../../../../src/turnd/daemon/executors/contract/configuration.ts";
import type { Invocation } from "../../../../../src/turnd/daemon/executors/contract/invocation.ts";

const THREAD = "01a1fd1a-5463-7e72-9eca-765c0aaffeed";

function configured(env: Record<string, string> = {}): Configuration {
  const result = cliB.configure({
    env: { CLI_B_API_KEY: "FAKE-LAB-KEY-A", CLI_B_MODEL: "m", CLI_B_BASE_URL: "http://127.0.0.1:1/v1", ...env },
    cliName: "codex",
  });
  if (!result.ok) throw new Error(result.errors.join("; "));
  return result.configuration;
}

function argsOf(invocation: Partial<Invocation> = {}): string[] {
  return cliB.buildArgs({
    mode: "execute",
    configuration: configured(),
    workspace: "/workspace",
    permissions: {},
    images: [],
    ...invocation,
  });
}

const valueAfter = (args: readonly string[], option: string): string | undefined => args[args.indexOf(option) + 1];
const overridesOf = (args: readonly string[]): string[] =>
  args.flatMap((arg, index) => (arg === "-c" ? [args[index + 1] ?? ""] : []));

test("a new turn reads its prompt from stdin and prints records", () => {
  expect(argsOf()).toEqual([
    "exec",
    "--json",
    "--skip-git-repo-check",
    "--color",
    "never",
    "-s",
    "workspace-write",
    "-C",
    "/workspace",
    "-c",
    'projects={"/workspace"={trust_level="untrusted"}}',
    "--strict-config",
    "-c",
    'approval_policy="never"',
    "-c",
    "features.shell_snapshot=false",
    "-c",
    "features.goals=false",
    "-",
  ]);
});

test("a resumed turn has every option before the word resume", () => {
  const args = argsOf({ resume: THREAD, model: "other", images: ["/h/a.png", "/h/b.png"], outputSchema: "/h/s.json" });
  expect(args.slice(-5)).toEqual(["--image=/h/a.png", "--image=/h/b.png", "resume", THREAD, "-"]);
  expect(valueAfter(args, "-m")).toBe("other");
  expect(valueAfter(args, "--output-schema")).toBe("/h/s.json");
});

test("a review is read-only and takes its instructions from stdin", () => {
  const args = argsOf({ mode: "review" });
  expect(args.slice(-2)).toEqual(["review", "-"]);
  expect(valueAfter(args, "-s")).toBe("read-only");
});

test("a review in a thread goes on in it, read-only", () => {
  const args = argsOf({ mode: "review", resume: THREAD });
  expect(args.slice(-3)).toEqual(["resume", THREAD, "-"]);
  expect(valueAfter(args, "-s")).toBe("read-only");
});

test.each([
  { mode: "execute", configured: "danger-full-access", permissions: {}, sandbox: "danger-full-access" },
  { mode: "plan", configured: "danger-full-access", permissions: {}, sandbox: "read-only" },
  { mode: "execute", configured: "danger-full-access", permissions: { edit: "deny" }, sandbox: "read-only" },
  { mode: "execute", configured: "danger-full-access", permissions: { network: "deny" }, sandbox: "workspace-write" },
  { mode: "execute", configured: "read-only", permissions: { network: "deny" }, sandbox: "read-only" },
  {
    mode: "execute",
    configured: "danger-full-access",
    permissions: { execute: "deny" },
    sandbox: "danger-full-access",
  },
] as const)(
  "$configured in mode $mode with $permissions runs in $sandbox",
  ({ configured: mode, sandbox, ...rest }) => {
    const configuration = configured({ CLI_B_SANDBOX_MODE: mode });
    expect(valueAfter(argsOf({ configuration, ...rest }), "-s")).toBe(sandbox);
    const isNeeded = cliB.sandboxCheck?.isNeeded(configuration, rest.mode, rest.permissions);
    expect(isNeeded).toBe(sandbox !== "danger-full-access");
  },
);

test("a session without execution has no shell, one without network no web search", () => {
  expect(overridesOf(argsOf({ permissions: { execute: "deny", network: "deny" } }))).toEqual(
    expect.arrayContaining([
      "features.shell_tool=false",
      "features.unified_exec=false",
      "sandbox_workspace_write.network_access=false",
      'web_search="disabled"',
    ]),
  );
});

test("the effort is a setting of the turn", () => {
  expect(overridesOf(argsOf({ effort: "high" }))).toContain('model_reasoning_effort="high"');
});

test.each(["/workspace", "/w/a b", '/w/it\'s "quoted" \\ here', "/w/ü\u007f"])(
  "the workspace %j is untrusted, so its own configuration is not read",
  (workspace) => {
    const [projects = ""] = overridesOf(argsOf({ workspace }));
    expect(toml.parse(projects)).toEqual({ projects: { [workspace]: { trust_level: "untrusted" } } });
  },
);

describe("with a whole configuration", () => {
  const whole = (text: string): string[] =>
    overridesOf(argsOf({ configuration: configured({ CLI_B_CONFIG_TOML: text, MY_CRED: "FAKE" }) }));
  const PROVIDER = 'model_provider = "p"\n[model_providers.p]\nname = "p"\nenv_key = "MY_CRED"\n';

  test("what keeps the key safe holds all the same", () => {
    const overrides = whole(
      `${PROVIDER}[features]\nshell_snapshot = true\n[shell_environment_policy]\nexclude = ["A*"]\n`,
    );
    expect(overrides).toEqual(
      expect.arrayContaining([
        'approval_policy="never"',
        "features.shell_snapshot=false",
        "analytics.enabled=false",
        'shell_environment_policy.exclude=["A*","GIT_DIR","MY_CRED"]',
      ]),
    );
  });

  test("what the operator sets explicitly is left as it is", () => {
    const overrides = whole(
      `${PROVIDER}[analytics]\nenabled = true\n[features]\nplugins = true\n[[hooks.Stop]]\n[agents.a]\n`,
    );
    expect(overrides.filter((pair) => /^(?:analytics|features\.(?:plugins|hooks|multi_agent))/.test(pair))).toEqual([]);
  });

  test("keys that this version does not have are not refused", () => {
    const configuration = configured({ CLI_B_CONFIG_TOML: PROVIDER, MY_CRED: "FAKE" });
    expect(argsOf({ configuration })).not.toContain("--strict-config");
  });
});

test.each([
  [THREAD, true],
  [THREAD.toUpperCase(), true],
  ["", false],
  ["--last", false],
  ["my-thread", false],
  [`${THREAD} `, false],
])("%j is a session id of CLI B: %s", (id, isOne) => {
  expect(cliB.isNativeSessionId(id)).toBe(isOne);
});

test("the native binary is looked for where npm puts the platform packages", () => {
  const paths = cliB.nativeBinaries("codex").map(({ path }) => path);
  expect(paths).toContain("@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex");
  expect(paths).toContain("@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex");
  expect(paths).toContain("codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex");
});
