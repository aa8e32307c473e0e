import type { TomlTable } from "./toml.ts";

const KEY = "developer_instructions";

/**
 * Adds a session's instructions, behind the operator's own: the CLI sends them as a message of the developer, in a resumed
 * thread too (measured on 0.139.0).
 */
export function addInstructions(config: TomlTable, instructions: string | undefined): TomlTable {
  if (instructions === undefined) return config;
  const own = config[KEY];
  return { ...config, [KEY]: typeof own === "string" && own !== "" ? `${own}\n\n${instructions}` : instructions };
}
