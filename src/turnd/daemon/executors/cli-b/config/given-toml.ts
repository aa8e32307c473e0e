import { isSecretName } from "../../secrets/secret-names.ts";
import { asTable, readPath, type TomlTable, tomlString } from "./toml.ts";
import type { VersionedSetting } from "./setting.ts";
import { ALWAYS, BY_DEFAULT, type Default, NO_REPOSITORY } from "./unasked.ts";
import type { Setting } from "./setting.ts";

/** What the file makes the CLI read from its environment. */
export interface NamedVariables {
  /** The key variable of the selected provider. */
  readonly key: string | undefined;
  /** Variables whose values are sent as headers. */
  readonly headers: readonly string[];
  /** Those of them that hold a secret, as the header's name shows. */
  readonly credentials: readonly string[];
  /** Variables handed on to MCP servers. */
  readonly plain: readonly string[];
}

/** Settings that win over a file that is written as given: `-c` beats every file, a project's too (measured). */
export function buildOverrides(table: TomlTable, hiddenVariables: readonly string[]): VersionedSetting[] {
  const decides = ({ path, about }: Default): boolean =>
    [path, about].some((name) => name !== undefined && readPath(table, name) !== undefined);
  const own = readStrings(readPath(table, "shell_environment_policy.exclude"));
  return [
    ...ALWAYS,
    ...BY_DEFAULT.filter((setting) => !decides(setting)),
    {
      path: "shell_environment_policy.exclude",
      value: [...new Set([...own, ...Object.keys(NO_REPOSITORY), ...hiddenVariables])],
    },
  ];
}

/** Paths of settings that the file wants otherwise than they always are. */
export function listOverruled(table: TomlTable): string[] {
  return ALWAYS.map(({ path, value }) => ({ path, value, own: readPath(table, path) }))
    .filter(({ value, own }) => own !== undefined && own !== value)
    .map(({ path }) => path);
}

/** A setting as the CLI's `-c` takes it. */
export function toPair({ path, value }: Setting): string {
  const written = Array.isArray(value) ? `[${value.map(tomlString).join(",")}]` : tomlValue(value);
  return `${path}=${written}`;
}

function tomlValue(value: unknown): string {
  return typeof value === "string" ? tomlString(value) : String(value);
}

/** The first provider with a wire protocol other than the Responses API; the CLI refuses to start with one. */
export function findUnsupportedWireApi(table: TomlTable): { provider: string; wireApi: string } | undefined {
  for (const [provider, settings] of Object.entries(asTable(table["model_providers"]))) {
    const wireApi = asTable(settings)["wire_api"];
    if (wireApi !== undefined && wireApi !== "responses") return { provider, wireApi: JSON.stringify(wireApi) };
  }
  return undefined;
}

/** The provider the file selects, when the file defines it. */
export function readProvider(table: TomlTable): TomlTable | undefined {
  const id = table["model_provider"];
  if (typeof id !== "string") return undefined;
  const settings = asTable(table["model_providers"])[id];
  return settings === undefined ? undefined : asTable(settings);
}

/** Collects the variables the file names. */
export function readNamedVariables(table: TomlTable): NamedVariables {
  const provider = readProvider(table) ?? {};
  const servers = Object.values(asTable(table["mcp_servers"])).map(asTable);
  const sent = [provider, ...servers].flatMap((holder) => Object.entries(asTable(holder["env_http_headers"])));
  const headers = sent.map(([, variable]) => variable);
  const bearers = servers.map((server) => server["bearer_token_env_var"]);
  return {
    key: readStrings([provider["env_key"]])[0],
    headers: readStrings([...headers, ...bearers]),
    credentials: readStrings([
      ...sent.filter(([header]) => isSecretName(header)).map(([, variable]) => variable),
      ...bearers,
    ]),
    plain: servers.flatMap((server) => readStrings(server["env_vars"])),
  };
}

function readStrings(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.filter((entry): entry is string => typeof entry === "string" && entry !== "");
}
