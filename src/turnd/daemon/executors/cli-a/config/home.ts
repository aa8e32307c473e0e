import { z } from "zod";
import { defined } from "../../../../../kit/defined.ts";
import { namesOf, variableOf } from "../../contract/binary-names.ts";
import type { ConfigFile } from "../../contract/configuration.ts";
import type { HomeInput, HomePlan } from "../../contract/invocation.ts";
import { addModel, BUILT_AS, readDetails, resolveModel, type CliADetails, CliAConfig } from "./details.ts";
import { guardEnv, secretsEnv } from "./own-code.ts";
import { tightenConfig } from "./permissions.ts";
import { withoutKey } from "./provider-key.ts";
import { renderConfig } from "./rendered-config.ts";
import { quietConfig } from "./unasked.ts";
import type { McpServer, McpServers } from "../../../../protocol/index.ts";

const Paths = z.array(z.unknown());

/** In the CLI's directory of configuration. */
const INSTRUCTIONS = "session-instructions.md";

/**
 * What turnd writes into the CLI's directory of configuration, and what the CLI makes there. All else that it would read there
 * (agents, commands, plugins, skills, tools, `AGENTS.md`, `opencode.json`) another has made.
 */
export const CONFIG_MADE = [
  "config.json",
  INSTRUCTIONS,
  "package.json",
  "package-lock.json",
  "node_modules",
  ".gitignore",
] as const;

/**
 * What the CLI leaves beside its store, below its directory of data, and no later turn needs: what its stderr has too, tokens of
 * MCP servers, histories that older versions take into a new store, repositories in which its own git would run what their
 * configuration names. 1.18.33 adds to one log for as long as the session lives.
 */
export const DATA_LEFT = ["log", "storage", "project", "repos", "snapshot", "mcp-auth.json"] as const;

/**
 * Switches that keep a run to its own home: no files of a repository or a user, no downloads.
 * Source: docs/contracts/cli-a.md §8.
 */
const SWITCHES = [
  "DISABLE_AUTOUPDATE",
  "DISABLE_CLAUDE_CODE",
  "DISABLE_DEFAULT_PLUGINS",
  "DISABLE_EXTERNAL_SKILLS",
  // 1.18.33: an index of the workspace, made at every start by native code that leaves 5.6 MB behind, for the CLI's own screen.
  "DISABLE_FFF",
  "DISABLE_LSP_DOWNLOAD",
  "DISABLE_MODELS_FETCH",
  "DISABLE_PROJECT_CONFIG",
  "DISABLE_SHARE",
  // 1.18.33 watches `.git` of the workspace for its screen.
  "EXPERIMENTAL_DISABLE_FILEWATCHER",
] as const;

/**
 * What makes the CLI believe that its plugin package is installed: otherwise 1.14.34 fetches 58 MB from npm into every home
 * that is new, and 1.3.2, which wants its own version there, asks npm in every turn (measured).
 */
function pluginStubs(version: string): Record<string, Record<string, unknown>> {
  const dependencies = { "@opencode-ai/plugin": version };
  return {
    "package.json": { dependencies },
    "package-lock.json": { lockfileVersion: 3, packages: { "": { dependencies } } },
  };
}

/**
 * Lays out CLI A's part of a session's home: four directories and the configuration, tightened for this turn.
 *
 * @see docs/contracts/cli-a.md §4, §7, §8
 */
export function planHome(input: HomeInput): HomePlan {
  const { home, cliName } = input;
  const details = readDetails(input.configuration);
  const names = namesOf(cliName, BUILT_AS);
  const config = details.source === "none" ? undefined : tighten(details, input);
  const stubs = pluginStubs(input.cliVersion ?? "*");
  const files = Object.entries(config === undefined ? {} : { "config.json": config, ...stubs });
  const configFiles = config === undefined ? [] : names.map((name) => `${home}/config/${name}/config.json`);
  const stores = names.map((name) => ({ data: `${home}/data/${name}`, name }));
  return {
    directories: ["cache", "state", ...names.flatMap((name) => [`data/${name}`, `config/${name}/node_modules`])],
    files: [
      ...names.flatMap((name) => files.map(([file, content]) => toFile(`config/${name}/${file}`, content))),
      ...(input.instructions === undefined
        ? []
        : [{ path: instructionsPath(cliName), content: `${input.instructions}\n` }]),
    ],
    forbidden: names.flatMap((name) => [`data/${name}/auth.json`, `.${name}`]),
    kept: names.map((name) => ({ path: `config/${name}`, names: [], made: CONFIG_MADE })),
    plain: names.map((name) => `data/${name}`),
    // Programs that it starts when PATH lacks them; a catalogue of providers, their addresses, packages, limits and prices,
    // which it believes before its own; the model that was used last: all of it is in the binary as well, or made anew.
    emptied: names.flatMap((name) => [`cache/${name}`, `state/${name}`]),
    leftovers: names.flatMap((name) => DATA_LEFT.map((file) => `data/${name}/${file}`)),
    env: {
      XDG_DATA_HOME: `${home}/data`,
      XDG_CONFIG_HOME: `${home}/config`,
      XDG_CACHE_HOME: `${home}/cache`,
      XDG_STATE_HOME: `${home}/state`,
      ...Object.fromEntries(names.flatMap((name) => switchesOf(name, home, config?.["permission"]))),
      ...preloadOf(input, { config, configFiles, stores }),
    },
  };
}

function preloadOf(
  { allowsWorkspaceCode = false, transport }: HomeInput,
  guarded: Parameters<typeof guardEnv>[0],
): Record<string, string> {
  const hasSecrets = transport === "interactive";
  if (!allowsWorkspaceCode) return guardEnv({ ...guarded, hasSecrets });
  return hasSecrets ? secretsEnv() : {};
}

function switchesOf(name: string, home: string, permission: unknown): [string, string][] {
  return [
    ...SWITCHES.map((end): [string, string] => [variableOf(name, end), "1"]),
    // Even without project configuration the CLI reads `~/.opencode`, which any tool can write (measured on both
    // versions): it looks for it here instead. The CLI's tools keep their HOME.
    [variableOf(name, "TEST_HOME"), home],
    ...(permission === undefined
      ? []
      : [[variableOf(name, "PERMISSION"), JSON.stringify(permission)] satisfies [string, string]]),
  ];
}

function tighten(details: Exclude<CliADetails, { source: "none" }>, input: HomeInput): Record<string, unknown> {
  const { model, permissions, mode, mcpServers = {}, home, cliName, instructions, transport } = input;
  const requested = model === undefined ? undefined : resolveModel(details, model);
  const config = requested === undefined ? details.config : addModel(details.config, requested);
  const own = instructions === undefined ? config : addInstructions(config, `${home}/${instructionsPath(cliName)}`);
  const tightened = tightenConfig(addServers(own, mcpServers), permissions, mode);
  const quiet = quietConfig(tightened, { permissions, mode, ...defined({ requested }) });
  return transport === "interactive" ? withoutKey(quiet, details.provider) : quiet;
}

function toFile(path: string, content: Record<string, unknown>): ConfigFile {
  return { path, content: renderConfig(content) };
}

/** Where a session's instructions are, relative to its home. */
function instructionsPath(cliName: string): string {
  return `config/${cliName}/${INSTRUCTIONS}`;
}

/**
 * Adds the file of a session's instructions to those that the configuration names: the CLI reads each of them before every
 * request (measured on 1.14.34). What is no list the CLI refuses.
 */
function addInstructions(config: CliAConfig, path: string): CliAConfig {
  const own = Paths.safeParse(config["instructions"] ?? []);
  return own.success ? { ...config, instructions: [...own.data, path] } : config;
}

/** Adds a request's MCP servers to a configuration; one of the same name is replaced. What is no table the CLI refuses. */
function addServers(config: CliAConfig, servers: McpServers): CliAConfig {
  const own = CliAConfig.safeParse(config["mcp"] ?? {}).data;
  if (own === undefined || Object.keys(servers).length === 0) return config;
  const added = Object.entries(servers).map(([name, server]) => [name, toEntry(server)]);
  return { ...config, mcp: { ...own, ...Object.fromEntries(added) } };
}

function toEntry(server: McpServer): CliAConfig {
  switch (server.type) {
    case "http":
      // Nobody can log in during a turn: a server that answers 401 is one that refuses.
      return { type: "remote", enabled: true, url: server.url, headers: server.headers ?? {}, oauth: false };
    case "stdio":
      return {
        type: "local",
        enabled: true,
        command: [server.command, ...(server.args ?? [])],
        environment: server.env ?? {},
      };
  }
}
