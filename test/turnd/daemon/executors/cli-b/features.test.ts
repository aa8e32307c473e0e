import * as toml from "smol-toml";
import { describe, expect, test } from "vitest";
import { cliB } from "../../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import type { CliFeatures } from "../../../../../src/turnd/daemon/executors/contract/cli-features.ts";
import type { Configuration } from "../../../../../src/turnd/daemon/executors/contract/configuration.ts";

/** Rows as 0.139.0 and 0.169.0 print them. */
const OLDER = `goals                                stable             true
multi_agent                          stable             true
memories                             under development  false
`;
const NEWER = `daemon_auto_start                        stable             true
goals                                    stable             true
multi_agent                              deprecated         true
unbounded_connection_retries             stable             true
worktrees                                removed            true
`;

function read(printed: string): CliFeatures {
  const features = cliB.featureQuestion?.read(printed);
  if (features === undefined) throw new Error("no list");
  return features;
}

function configured(env: Record<string, string>): Configuration {
  const result = cliB.configure({ env: { MY_CRED: "FAKE-LAB-KEY-A", ...env }, cliName: "codex" });
  if (!result.ok) throw new Error(result.errors.join("; "));
  return result.configuration;
}

const variables = configured({ CLI_B_ENV_KEY: "MY_CRED", CLI_B_MODEL: "m", CLI_B_BASE_URL: "http://127.0.0.1:1/v1" });

function rendered(features: CliFeatures | undefined) {
  const given = features === undefined ? {} : { cliFeatures: features };
  const turn = { permissions: {}, mode: "execute" as const };
  const plan = cliB.planHome({ home: "/h", cliName: "codex", configuration: variables, ...turn, ...given });
  return toml.parse(plan.files[0]?.content ?? "");
}

function overridesOf(text: string, features: CliFeatures): string[] {
  const args = cliB.buildArgs({
    mode: "execute",
    configuration: configured({ CLI_B_CONFIG_TOML: text }),
    workspace: "/workspace",
    permissions: {},
    images: [],
    cliFeatures: features,
  });
  return args.flatMap((arg, index) => (arg === "-c" ? [args[index + 1] ?? ""] : []));
}

describe("the features of a binary", () => {
  test("are read with their stages, two words included", () => {
    expect(read(OLDER)).toEqual({ goals: "stable", multi_agent: "stable", memories: "under development" });
  });

  test.each(["", "codex-cli 0.139.0", "error: unrecognized subcommand 'features'"])("%j is no list", (printed) => {
    expect(cliB.featureQuestion?.read(printed)).toBeUndefined();
  });

  test("that it does not list are not named: it would refuse the configuration", () => {
    for (const features of [undefined, read(OLDER)]) {
      const { features: set, agents } = rendered(features);
      expect(set).toMatchObject({ multi_agent: false, goals: false });
      expect(set).not.toHaveProperty("unbounded_connection_retries");
      expect(agents).toBeUndefined();
    }
  });

  test("that act by themselves are off where it lists them, sub-agents by the key that it asks for", () => {
    const { features, agents } = rendered(read(NEWER));
    expect(features).toMatchObject({ goals: false, unbounded_connection_retries: false, daemon_auto_start: false });
    expect(features).not.toHaveProperty("multi_agent");
    expect(features).not.toHaveProperty("worktrees");
    expect(agents).toEqual({ enabled: false });
  });

  test("are off beside a file that is written as given, unless it names them", () => {
    expect(overridesOf('model = "m"\n', read(NEWER))).toEqual(
      expect.arrayContaining(["features.unbounded_connection_retries=false", "agents.enabled=false"]),
    );
    const named = "[features]\nunbounded_connection_retries = true\n[agents]\nmax_threads = 2\n";
    const left = overridesOf(named, read(NEWER)).join(" ");
    expect(left).not.toMatch(/unbounded_connection_retries|agents|multi_agent/);
    expect(overridesOf('model = "m"\n', read(OLDER)).join(" ")).toMatch(/features\.multi_agent=false/);
    expect(overridesOf('model = "m"\n', read(OLDER)).join(" ")).not.toMatch(/unbounded|agents\.enabled/);
  });
});
