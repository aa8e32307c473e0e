import type { CliName } from "../../src/protocol/index.ts";

type Env = Readonly<Record<string, string | undefined>>;

const PROVIDER_VARIABLES: Readonly<Record<CliName, RegExp>> = {
  "cli-a": /^CLI_A_(API_KEY|MODEL|PROVIDER|BASE_URL|PROVIDER_NPM|JSON)$/,
  "cli-b": /^CLI_B_(API_KEY|ENV_KEY|MODEL|BASE_URL|CONFIG_TOML)$/,
};

/** The CLIs that a provider is set for. */
export function configuredClis(env: Env): CliName[] {
  return (["cli-a", "cli-b"] as const).filter((executor) =>
    Object.entries(env).some(([name, value]) => PROVIDER_VARIABLES[executor].test(name) && (value ?? "") !== ""),
  );
}

/** What makes CLIs talk to a scripted model. */
export function scriptedVariables(url: string, clis: readonly CliName[]): Record<string, string> {
  const cliA = {
    CLI_A_PROVIDER: "scripted",
    CLI_A_MODEL: "scripted",
    CLI_A_BASE_URL: url,
    CLI_A_API_KEY: "no-key-needed",
  };
  const cliB = { CLI_B_MODEL: "scripted", CLI_B_BASE_URL: url, CLI_B_API_KEY: "no-key-needed" };
  return { ...(clis.includes("cli-a") ? cliA : {}), ...(clis.includes("cli-b") ? cliB : {}) };
}
