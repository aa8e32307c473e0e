import { namesOf, variableOf } from "../../contract/binary-names.ts";
import type { HomeInput, HomePlan } from "../../contract/invocation.ts";
import { BUILT_AS, chooseSandboxMode, readDetails } from "./details.ts";
import { addServers } from "./mcp-servers.ts";
import { renderConfig } from "./rendered-config.ts";
import { addInstructions } from "./instructions.ts";
import { changeToml, type TomlTable } from "./toml.ts";
import { NO_REPOSITORY } from "./unasked.ts";

/**
 * What the CLI reads in its home besides `config.toml` and its own state; a tool of an earlier turn could have put it
 * there. Profiles (`*.config.toml`) are read only with `-p`, which turnd never gives. Seen with strace on 0.139.0.
 */
const FORBIDDEN = [
  ".env",
  "AGENTS.md",
  "AGENTS.override.md",
  "agents",
  "auth.json",
  "environments.toml",
  "hooks.json",
  "managed_config.toml",
  "requirements.toml",
  "rules",
] as const;

/** Lays out CLI B's part of a session's home: one directory, which must exist before the CLI starts. */
export function planHome(input: HomeInput): HomePlan {
  const { home, cliName, configuration, permissions, mode, mcpServers = {}, instructions, cliFeatures } = input;
  const details = readDetails(configuration);
  const files = [];
  if (details.source === "toml") {
    // As given, byte for byte, where there is nothing to add.
    const hasAdditions = Object.keys(mcpServers).length > 0 || instructions !== undefined;
    const change = (table: TomlTable): TomlTable => addInstructions(addServers(table, mcpServers), instructions);
    const content = hasAdditions ? changeToml(details.toml, change) : details.toml;
    files.push({ path: `${cliName}/config.toml`, content });
  }
  if (details.source === "variables") {
    const sandboxMode = chooseSandboxMode(details.sandboxMode, mode, permissions);
    files.push({
      path: `${cliName}/config.toml`,
      content: renderConfig(details.settings, sandboxMode, { mcpServers, instructions, cliFeatures }),
    });
  }
  return {
    directories: [cliName],
    files,
    forbidden: FORBIDDEN.map((name) => `${cliName}/${name}`),
    env: {
      ...NO_REPOSITORY,
      ...Object.fromEntries(namesOf(cliName, BUILT_AS).map((name) => [variableOf(name, "HOME"), `${home}/${cliName}`])),
    },
  };
}
