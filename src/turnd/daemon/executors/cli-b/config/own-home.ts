import type { CliBDetails } from "./details.ts";
import { toPair } from "./given-toml.ts";
import { asTable, parseToml, readPath, type TomlTable, tomlString } from "./toml.ts";

/**
 * Where the CLI itself looks for its user's home, relative to the session's: empty when a turn begins.
 *
 * It reads skills below its HOME (`.agents/skills`), which are developer text of every turn, and the user's home is one for
 * all sessions and their tools.
 */
export function ownHome(cliName: string): string {
  return `${cliName}-home`;
}

/**
 * Overrides that give what the CLI starts the home of the user all the same: its tools, and the servers of the operator's file.
 *
 * @returns pairs for `-c`; what the file itself says of HOME holds
 */
export function homeOverrides(details: CliBDetails, userHome: string): string[] {
  const table = readTable(details);
  const set = "shell_environment_policy.set.HOME";
  const servers = Object.entries(asTable(table["mcp_servers"])).filter(
    ([, server]) =>
      typeof asTable(server)["command"] === "string" && readPath(asTable(server), "env.HOME") === undefined,
  );
  // One table, since a server's name may have dots; it is laid over the file's.
  const homes = servers.map(([name]) => `${tomlString(name)}={env={HOME=${tomlString(userHome)}}}`);
  return [
    ...(readPath(table, set) === undefined ? [toPair({ path: set, value: userHome })] : []),
    ...(homes.length === 0 ? [] : [`mcp_servers={${homes.join(",")}}`]),
  ];
}

/** Whether a file has a path that begins in a home and that the CLI itself opens. */
export function namesHome(table: TomlTable): boolean {
  const { mcp_servers: _servers, ...own } = table;
  return holdsHomePath(own);
}

function holdsHomePath(value: unknown): boolean {
  if (typeof value === "string") return value.startsWith("~/");
  const values = Array.isArray(value) ? value : Object.values(asTable(value));
  return values.some(holdsHomePath);
}

function readTable(details: CliBDetails): TomlTable {
  if (details.source !== "toml") return {};
  const parsed = parseToml(details.toml);
  return parsed.ok ? parsed.table : {};
}
