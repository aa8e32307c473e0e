import type { Configuration, ConfigureInput, ConfigureResult, Variable } from "../../contract/configuration.ts";
import { type CliBDetails, type CliBVariables, configPath, type RenderedSettings, SandboxMode } from "./details.ts";
import { MASK, showConfig } from "./effective.ts";
import { buildConfig, renderConfig } from "./rendered-config.ts";
import { configureWhole } from "./whole-config.ts";

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
// eslint-disable-next-line no-control-regex -- TOML allows none
const CONTROL = /[\u0000-\u001f\u007f]/;

/** The variables of CLI B's configuration, for people. */
export const VARIABLES: readonly Variable[] = [
  {
    name: "CLI_B_API_KEY",
    meaning: "the provider's key; needed with model and base URL, unless another variable holds it",
  },
  {
    name: "CLI_B_ENV_KEY",
    meaning: "name of the variable that holds the key instead; otherwise OPENAI_API_KEY is used",
  },
  { name: "CLI_B_MODEL", meaning: "the model CLI B asks for" },
  { name: "CLI_B_BASE_URL", meaning: "the provider's address, such as https://host/v1; it must implement /responses" },
  { name: "CLI_B_CONFIG_TOML", meaning: "the whole config.toml, written as given; wins over the others" },
  {
    name: "CLI_B_SANDBOX_MODE",
    meaning:
      "of an execution turn: read-only, workspace-write (default) or danger-full-access, where the container is the boundary",
  },
];

/**
 * Reads CLI B's variables.
 *
 * `CLI_B_CONFIG_TOML` is taken as it is; else key, model and base URL make a configuration; `OPENAI_API_KEY` by itself makes
 * none, since people have it for other reasons. A key's value goes into the environment, never into the file.
 */
export function configure({ env, cliName }: ConfigureInput): ConfigureResult {
  const variables: CliBVariables = {
    apiKey: given(env["CLI_B_API_KEY"]),
    envKey: given(env["CLI_B_ENV_KEY"]),
    model: given(env["CLI_B_MODEL"]),
    baseUrl: given(env["CLI_B_BASE_URL"]),
    toml: given(env["CLI_B_CONFIG_TOML"]),
    sandboxMode: given(env["CLI_B_SANDBOX_MODE"]),
  };
  const sandboxMode = SandboxMode.safeParse(variables.sandboxMode ?? "workspace-write");
  if (!sandboxMode.success) {
    const allowed = SandboxMode.options.join(", ");
    return { ok: false, errors: [`CLI_B_SANDBOX_MODE must be one of ${allowed}, got "${variables.sandboxMode}"`] };
  }
  if (variables.toml !== undefined) {
    return configureWhole({ toml: variables.toml, variables, env, cliName, sandboxMode: sandboxMode.data });
  }
  const { apiKey, envKey, model, baseUrl } = variables;
  if ([apiKey, envKey, model, baseUrl].every((value) => value === undefined)) {
    return { ok: true, configuration: notConfigured(sandboxMode.data) };
  }
  return configureVariables(variables, env, { cliName, sandboxMode: sandboxMode.data });
}

function given(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === "" ? undefined : value;
}

function notConfigured(sandboxMode: SandboxMode): Configuration {
  const details: CliBDetails = { source: "none", sandboxMode };
  return {
    isConfigured: false,
    files: [],
    env: {},
    warnings: [],
    effective: [],
    secrets: [],
    fault: {
      code: "credential_missing",
      message: "CLI B is not configured: set CLI_B_API_KEY, CLI_B_MODEL and CLI_B_BASE_URL, or CLI_B_CONFIG_TOML.",
    },
    details,
  };
}

function configureVariables(
  { apiKey, envKey, model, baseUrl, sandboxMode: sandboxVariable }: CliBVariables,
  env: ConfigureInput["env"],
  { cliName, sandboxMode }: { cliName: string; sandboxMode: SandboxMode },
): ConfigureResult {
  const errors: string[] = [];
  const warnings: string[] = [];
  const keyName = apiKey !== undefined ? "CLI_B_API_KEY" : (envKey ?? "OPENAI_API_KEY");
  const key = given(env[keyName]);
  if (!VARIABLE_NAME.test(keyName)) {
    errors.push("CLI_B_ENV_KEY must be the name of a variable: letters, digits and _");
  } else if (key === undefined) {
    errors.push(
      envKey === undefined
        ? "no key for CLI B: set CLI_B_API_KEY, or CLI_B_ENV_KEY with the name of the variable that holds it, or OPENAI_API_KEY"
        : `CLI_B_ENV_KEY names ${envKey}, which is not set`,
    );
  }
  if (apiKey !== undefined && envKey !== undefined) {
    warnings.push("CLI_B_API_KEY and CLI_B_ENV_KEY are both set; CLI_B_API_KEY is used");
  }
  if (model === undefined) errors.push("CLI_B_MODEL is not set: the model CLI B asks for");
  else if (CONTROL.test(model)) errors.push("CLI_B_MODEL must be a single line without control characters");
  errors.push(...checkBaseUrl(baseUrl));
  if (errors.length > 0 || key === undefined || model === undefined || baseUrl === undefined) {
    return { ok: false, errors };
  }

  const settings: RenderedSettings = { model, baseUrl: baseUrl.replace(/\/+$/, ""), envKey: keyName };
  const origins: Readonly<Record<string, string>> = {
    model: "CLI_B_MODEL",
    "model_providers.turnd.base_url": "CLI_B_BASE_URL",
    "model_providers.turnd.env_key": apiKey === undefined && envKey !== undefined ? "CLI_B_ENV_KEY" : keyName,
    ...(sandboxVariable === undefined ? {} : { sandbox_mode: "CLI_B_SANDBOX_MODE" }),
  };
  const shown = showConfig(buildConfig(settings, sandboxMode), (path) => origins[path] ?? "turnd");
  const details: CliBDetails = { source: "variables", sandboxMode, settings };
  return {
    ok: true,
    configuration: {
      isConfigured: true,
      files: [{ path: configPath(cliName), content: renderConfig(settings, sandboxMode) }],
      env: { [keyName]: key },
      warnings,
      effective: [...shown.settings, { key: keyName, value: MASK, origin: keyName }],
      secrets: [key],
      model,
      details,
    },
  };
}

function checkBaseUrl(baseUrl: string | undefined): string[] {
  if (baseUrl === undefined) return ["CLI_B_BASE_URL is not set: the provider's address, such as https://host/v1"];
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || CONTROL.test(baseUrl)) {
    return ["CLI_B_BASE_URL must be an http or https address"];
  }
  if (url.username !== "" || url.password !== "") {
    return ["CLI_B_BASE_URL must not hold a user name or password; use CLI_B_API_KEY"];
  }
  if (url.search !== "" || url.hash !== "") {
    return ["CLI_B_BASE_URL must not hold a query; use CLI_B_CONFIG_TOML with query_params"];
  }
  return [];
}
