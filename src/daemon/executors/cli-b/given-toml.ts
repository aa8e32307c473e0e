import { asTable, readPath, type TomlTable, tomlString } from "./toml.ts";

/** A setting that wins over the file. */
export interface Override {
  readonly path: string;
  readonly value: boolean | string | readonly string[];
}

/** What holds whatever the operator's file says: nobody can approve, and a snapshot is a file with the key in it. */
const ALWAYS: readonly Override[] = [
  { path: "approval_policy", value: "never" },
  { path: "features.shell_snapshot", value: false },
];

/** What holds unless the operator's file says otherwise. Source: contract sections 10 and 11. */
const BY_DEFAULT: readonly Override[] = [
  { path: "check_for_update_on_startup", value: false },
  { path: "analytics.enabled", value: false },
  { path: "feedback.enabled", value: false },
  { path: "features.plugins", value: false },
  { path: "features.apps", value: false },
  { path: "shell_environment_policy.ignore_default_excludes", value: false },
];

/** What the file makes the CLI read from its environment. */
export interface NamedVariables {
  /** The key variable of the selected provider. */
  readonly key: string | undefined;
  /** Variables whose values are sent as headers. */
  readonly headers: readonly string[];
  /** Variables handed on to MCP servers. */
  readonly plain: readonly string[];
}

/** Settings that win over a file that is written as given: `-c` beats every file, a project's too (measured). */
export function buildOverrides(table: TomlTable, hiddenVariables: readonly string[]): Override[] {
  const overrides = [...ALWAYS, ...BY_DEFAULT.filter(({ path }) => readPath(table, path) === undefined)];
  if (hiddenVariables.length === 0) return overrides;
  const own = readStrings(readPath(table, "shell_environment_policy.exclude"));
  return [
    ...overrides,
    { path: "shell_environment_policy.exclude", value: [...new Set([...own, ...hiddenVariables])] },
  ];
}

/** An override as the CLI's `-c` takes it. */
export function toPair({ path, value }: Override): string {
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
  const headers = [provider, ...servers].flatMap((holder) => Object.values(asTable(holder["env_http_headers"])));
  const bearers = servers.map((server) => server["bearer_token_env_var"]);
  return {
    key: readStrings([provider["env_key"]])[0],
    headers: readStrings([...headers, ...bearers]),
    plain: servers.flatMap((server) => readStrings(server["env_vars"])),
  };
}

function readStrings(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.filter((entry): entry is string => typeof entry === "string" && entry !== "");
}
