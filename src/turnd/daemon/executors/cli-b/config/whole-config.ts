import { defined } from "../../../../../kit/defined.ts";
import { namesOf, variableOf } from "../../contract/binary-names.ts";
import type { Configuration, ConfigureInput, ConfigureResult } from "../../contract/configuration.ts";
import { isOrdinary, secretsIn } from "../../secrets/secret-values.ts";
import { BUILT_AS, type CliBDetails, type CliBVariables, configPath, SandboxMode } from "./details.ts";
import { MASK, showConfig } from "./effective.ts";
import {
  buildOverrides,
  findUnsupportedWireApi,
  listOverruled,
  readNamedVariables,
  readProvider,
} from "./given-toml.ts";
import { fitSettings } from "./features.ts";
import { namesHome } from "./own-home.ts";
import { parseToml, type TomlTable } from "./toml.ts";

interface WholeInput extends ConfigureInput {
  readonly toml: string;
  readonly variables: CliBVariables;
  /** The mode for a file that names none. */
  readonly sandboxMode: SandboxMode;
}

/** Takes `CLI_B_CONFIG_TOML`: written as given, with what must hold all the same given to the CLI as overrides. */
export function configureWhole({ toml, variables, env, cliName, sandboxMode }: WholeInput): ConfigureResult {
  const parsed = parseToml(toml);
  if (!parsed.ok) return { ok: false, errors: [`CLI_B_CONFIG_TOML is not valid TOML at ${parsed.at}`] };
  const { table } = parsed;
  const own = table["sandbox_mode"] === undefined ? undefined : SandboxMode.safeParse(table["sandbox_mode"]);
  if (own?.success === false) {
    return {
      ok: false,
      errors: [`sandbox_mode in CLI_B_CONFIG_TOML must be one of ${SandboxMode.options.join(", ")}`],
    };
  }

  const mode = own?.data ?? sandboxMode;
  const named = readNamedVariables(table);
  const builtIn = readProvider(table) === undefined ? builtInKey(variables, env, cliName) : {};
  const secretNames = [...(named.key === undefined ? [] : [named.key]), ...named.headers];
  const passed = { ...pick(env, [...secretNames, ...named.plain]), ...builtIn };
  const hidden = [...new Set([...secretNames, ...Object.keys(builtIn)])];
  const shown = showConfig(table, () => "CLI_B_CONFIG_TOML");
  const keys = new Set([...(named.key === undefined ? [] : [named.key]), ...Object.keys(builtIn)]);
  const secretsOf = ([name, value]: [string, string]): string[] =>
    keys.has(name) || (named.credentials.includes(name) && !isOrdinary(value)) ? [value] : secretsIn(name, value);
  const overrides = buildOverrides(table, hidden);
  const shownOverrides = fitSettings(overrides, undefined);
  const fault = findFault(table, named.key, passed);
  const details: CliBDetails = { source: "toml", sandboxMode: mode, toml, overrides };
  return {
    ok: true,
    configuration: {
      isConfigured: true,
      files: [{ path: configPath(cliName), content: toml }],
      env: passed,
      warnings: [
        ...ignoredVariables(variables, { key: named.key, hasOwnMode: own !== undefined, mode }),
        ...listOverruled(table).map((path) => `${path} in CLI_B_CONFIG_TOML is not used: no turn can run with it`),
        ...(namesHome(table)
          ? ["~ in CLI_B_CONFIG_TOML is an empty directory of each turn, not the user's home: write such paths out"]
          : []),
        ...missingHeaders(named.headers, passed),
        ...(readProvider(table) === undefined
          ? ["CLI_B_CONFIG_TOML selects no provider that it defines; the CLI's built-in ones ignore OPENAI_API_KEY"]
          : []),
      ],
      effective: [
        ...shown.settings.filter(({ key }) => !shownOverrides.some(({ path }) => path === key)),
        ...shownOverrides.map(({ path, value }) => ({ key: path, value, origin: "turnd" })),
        ...hidden.filter((name) => name in passed).map((name) => ({ key: name, value: MASK, origin: name })),
      ],
      secrets: [...new Set([...shown.secrets, ...Object.entries(passed).flatMap(secretsOf)])],
      ...(typeof table["model"] === "string" ? { model: table["model"] } : {}),
      ...defined({ fault }),
      details,
    },
  };
}

function findFault(
  table: TomlTable,
  keyName: string | undefined,
  passed: Readonly<Record<string, string>>,
): Configuration["fault"] {
  const unsupported = findUnsupportedWireApi(table);
  if (unsupported !== undefined) {
    const { provider, wireApi } = unsupported;
    const message = `CLI B speaks the Responses API alone: CLI_B_CONFIG_TOML gives provider "${provider}" wire_api ${wireApi}; set it to "responses".`;
    return { code: "executor_unavailable", message };
  }
  if (keyName === undefined || keyName in passed) return undefined;
  return {
    code: "credential_missing",
    message: `CLI_B_CONFIG_TOML names the key variable ${keyName}, which is not set.`,
  };
}

/** The built-in provider takes its key from a variable of the CLI's own name. Source: docs/contracts/cli-b.md §5. */
function builtInKey(variables: CliBVariables, env: ConfigureInput["env"], cliName: string): Record<string, string> {
  const names = namesOf(cliName, BUILT_AS).map((name) => variableOf(name, "API_KEY"));
  const key = Object.values(pick(env, names))[0] ?? variables.apiKey;
  return key === undefined ? {} : Object.fromEntries(names.map((name) => [name, key]));
}

function pick(env: ConfigureInput["env"], names: readonly string[]): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = env[name];
    if (value !== undefined && value !== "") picked[name] = value;
  }
  return picked;
}

function ignoredVariables(
  variables: CliBVariables,
  file: { key: string | undefined; hasOwnMode: boolean; mode: SandboxMode },
): string[] {
  const isModeIgnored = file.hasOwnMode && variables.sandboxMode !== undefined && variables.sandboxMode !== file.mode;
  const ignored = [
    ...(variables.model === undefined ? [] : ["CLI_B_MODEL"]),
    ...(variables.baseUrl === undefined ? [] : ["CLI_B_BASE_URL"]),
    ...(variables.envKey === undefined ? [] : ["CLI_B_ENV_KEY"]),
    ...(variables.apiKey === undefined || file.key === "CLI_B_API_KEY" || file.key === undefined
      ? []
      : ["CLI_B_API_KEY"]),
    ...(isModeIgnored ? ["CLI_B_SANDBOX_MODE"] : []),
  ];
  return ignored.length === 0 ? [] : [`CLI_B_CONFIG_TOML wins: ${ignored.join(", ")} set as well, not used`];
}

function missingHeaders(names: readonly string[], passed: Readonly<Record<string, string>>): string[] {
  return names
    .filter((name) => !(name in passed))
    .map((name) => `CLI_B_CONFIG_TOML takes a header from ${name}, which is not set; the header is left out`);
}
