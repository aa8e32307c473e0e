import type { Configuration, ConfigureInput, ConfigureResult, Variable } from "../../contract/configuration.ts";
import { isBundled, notBundled } from "./bundled.ts";
import type { CliADetails } from "./details.ts";
import { showConfig } from "./effective.ts";
import { buildConfig, renderConfig } from "./rendered-config.ts";
import { configureWhole } from "./whole-config.ts";

const REQUIRED = {
  CLI_A_API_KEY: "the provider's key",
  CLI_A_MODEL: "the model CLI A asks for",
  CLI_A_PROVIDER: "the provider's id, such as anthropic",
  CLI_A_BASE_URL: "the provider's address, such as https://host/v1",
} as const;
const SINGLE = [...Object.keys(REQUIRED), "CLI_A_PROVIDER_NPM"];

/** The variables of CLI A's configuration, for people. */
export const VARIABLES: readonly Variable[] = [
  ...Object.entries(REQUIRED).map(([name, meaning]) => ({ name, meaning: `${meaning}; needed with the other three` })),
  {
    name: "CLI_A_PROVIDER_NPM",
    meaning:
      "the provider's package; one that comes with the CLI; default: the Anthropic one for the provider anthropic, otherwise the OpenAI-compatible one",
  },
  { name: "CLI_A_JSON", meaning: "the whole configuration, written as given; wins over the others" },
];

const ANTHROPIC = "@ai-sdk/anthropic";
const OPENAI_COMPATIBLE = "@ai-sdk/openai-compatible";
const PROVIDER_ID = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const PACKAGE = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;
// eslint-disable-next-line no-control-regex -- no setting has any
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * Reads CLI A's variables.
 *
 * `CLI_A_JSON` is taken as it is; otherwise key, model, provider and base URL make a configuration. Empty variables count as
 * not set, as entry scripts export them. The key goes into the file in clear text.
 */
export function configure({ env, cliName }: ConfigureInput): ConfigureResult {
  const given = (name: string): string | undefined => (env[name]?.trim() ? env[name] : undefined);
  const json = given("CLI_A_JSON");
  const single = SINGLE.filter((name) => given(name) !== undefined);
  if (json !== undefined) return configureWhole({ json, single, env, path: configPath(cliName) });
  if (single.length === 0) return { ok: true, configuration: notConfigured() };
  return configureVariables(given, cliName);
}

/** Where the configuration is below the home of the CLIs' user. */
export function configPath(cliName: string): string {
  return `.config/${cliName}/config.json`;
}

function notConfigured(): Configuration {
  const details: CliADetails = { source: "none" };
  return {
    isConfigured: false,
    files: [],
    env: {},
    warnings: [],
    effective: [],
    secrets: [],
    fault: {
      code: "credential_missing",
      message:
        "CLI A is not configured: set CLI_A_API_KEY, CLI_A_MODEL, CLI_A_PROVIDER and CLI_A_BASE_URL, or CLI_A_JSON.",
    },
    details,
  };
}

function configureVariables(given: (name: string) => string | undefined, cliName: string): ConfigureResult {
  const errors = Object.entries(REQUIRED).flatMap(([name, meaning]) => checkPresence(name, meaning, given(name)));
  const warnings: string[] = [];
  const provider = given("CLI_A_PROVIDER") ?? "";
  const npm = given("CLI_A_PROVIDER_NPM") ?? (provider === "anthropic" ? ANTHROPIC : OPENAI_COMPATIBLE);
  const baseUrl = given("CLI_A_BASE_URL") ?? "";
  const prefix = `${provider}/`;
  const givenModel = given("CLI_A_MODEL") ?? "";
  const model = givenModel.startsWith(prefix) ? givenModel.slice(prefix.length) : givenModel;
  const apiKey = given("CLI_A_API_KEY") ?? "";

  if (provider !== "" && !PROVIDER_ID.test(provider)) {
    errors.push("CLI_A_PROVIDER must be one word of letters, digits, and . _ -");
  }
  if (givenModel !== "" && model === "") errors.push("CLI_A_MODEL names a provider but no model");
  if (!isBundled(npm) && !PACKAGE.test(npm)) errors.push("CLI_A_PROVIDER_NPM must be the name of an npm package");
  if (baseUrl !== "") errors.push(...checkBaseUrl(baseUrl));
  if (errors.length > 0) return { ok: false, errors };

  const address = toAddress(baseUrl, npm, warnings);
  const config = buildConfig({ provider, model, baseUrl: address, npm, apiKey });
  const origins: Readonly<Record<string, string>> = {
    model: "CLI_A_MODEL",
    small_model: "CLI_A_MODEL",
    enabled_providers: "CLI_A_PROVIDER",
    [`provider.${provider}.name`]: "CLI_A_PROVIDER",
    [`provider.${provider}.npm`]: given("CLI_A_PROVIDER_NPM") === undefined ? "turnd" : "CLI_A_PROVIDER_NPM",
    [`provider.${provider}.options.baseURL`]: "CLI_A_BASE_URL",
    [`provider.${provider}.options.apiKey`]: "CLI_A_API_KEY",
  };
  const details: CliADetails = { source: "variables", config, provider };
  return {
    ok: true,
    configuration: {
      isConfigured: true,
      files: [{ path: configPath(cliName), content: renderConfig(config) }],
      env: {},
      warnings,
      effective: showConfig(config, (key) => origins[key] ?? "turnd").settings,
      secrets: [apiKey],
      model: `${provider}/${model}`,
      ...(isBundled(npm) ? {} : { fault: notBundled("CLI_A_PROVIDER_NPM", npm) }),
      details,
    },
  };
}

function checkPresence(name: string, meaning: string, value: string | undefined): string[] {
  if (value === undefined) return [`${name} is not set: ${meaning}`];
  return CONTROL.test(value) ? [`${name} must be a single line without control characters`] : [];
}

function checkBaseUrl(baseUrl: string): string[] {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return ["CLI_A_BASE_URL must be an http or https address"];
  if (url.username !== "" || url.password !== "") {
    return ["CLI_A_BASE_URL must not hold a user name or password; use CLI_A_API_KEY"];
  }
  return url.search === "" && url.hash === "" ? [] : ["CLI_A_BASE_URL must not hold a query; use CLI_A_JSON"];
}

/** The Anthropic package appends `/messages` only. Source: docs/contracts/cli-a.md §4. */
function toAddress(baseUrl: string, npm: string, warnings: string[]): string {
  const address = baseUrl.trim().replace(/\/+$/, "");
  if (npm !== ANTHROPIC || address.endsWith("/v1")) return address;
  warnings.push("CLI_A_BASE_URL does not end in /v1, which the Anthropic package needs; /v1 was added");
  return `${address}/v1`;
}
