import { namesOf, variableOf } from "../../contract/binary-names.ts";
import type { HomeInput, HomePlan } from "../../contract/invocation.ts";
import { BUILT_AS, chooseSandboxMode, readDetails } from "./details.ts";
import { addServers } from "./mcp-servers.ts";
import { renderConfig } from "./rendered-config.ts";
import { ownHome } from "./own-home.ts";
import { addInstructions } from "./instructions.ts";
import { changeToml, type TomlTable } from "./toml.ts";
import { allowsAgents, keptOf, listHistoryRules, WITHOUT_TURN_CONTEXT } from "./home-state.ts";
import { NO_REPOSITORY } from "./unasked.ts";

/** Lays out CLI B's part of a session's home: one directory, which must exist before the CLI starts. */
export function planHome(input: HomeInput): HomePlan {
  const {
    home,
    cliName,
    configuration,
    permissions,
    mode,
    mcpServers = {},
    instructions,
    hasNewInstructions = false,
    cliFeatures,
    userHome,
    transport,
  } = input;
  const details = readDetails(configuration);
  const files = [];
  if (details.source === "toml") {
    // As given, byte for byte, where there is nothing to add.
    const hasAdditions = Object.keys(mcpServers).length > 0 || instructions !== undefined;
    const change = (table: TomlTable): TomlTable =>
      addInstructions(addServers(table, mcpServers, userHome), instructions);
    const content = hasAdditions ? changeToml(details.toml, change) : details.toml;
    files.push({ path: `${cliName}/config.toml`, content });
  }
  if (details.source === "variables") {
    const sandboxMode = chooseSandboxMode(details.sandboxMode, mode, permissions);
    files.push({
      path: `${cliName}/config.toml`,
      content: renderConfig(details.settings, sandboxMode, {
        mcpServers,
        userHome,
        instructions,
        cliFeatures,
        transport,
      }),
    });
  }
  const renewed = hasNewInstructions && instructions !== undefined ? [WITHOUT_TURN_CONTEXT] : [];
  return {
    directories: [cliName],
    files,
    forbidden: [],
    emptied: [ownHome(cliName)],
    kept: keptOf(cliName),
    history: { path: `${cliName}/sessions`, rules: [...renewed, ...listHistoryRules(allowsAgents(details))] },
    env: {
      ...NO_REPOSITORY,
      HOME: `${home}/${ownHome(cliName)}`,
      ...Object.fromEntries(namesOf(cliName, BUILT_AS).map((name) => [variableOf(name, "HOME"), `${home}/${cliName}`])),
    },
  };
}
