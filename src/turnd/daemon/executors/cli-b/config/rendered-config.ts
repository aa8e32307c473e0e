import type { Transport } from "../../../../protocol/index.ts";
import type { CliFeatures } from "../../contract/cli-features.ts";
import type { HomeInput } from "../../contract/invocation.ts";
import type { RenderedSettings, SandboxMode } from "./details.ts";
import { fitSettings } from "./features.ts";
import { addInstructions } from "./instructions.ts";
import { addServers } from "./mcp-servers.ts";
import { formatToml, type TomlTable, writePath } from "./toml.ts";
import { ALWAYS, BY_DEFAULT, NO_REPOSITORY } from "./unasked.ts";
import type { Setting } from "./setting.ts";

/** Never a built-in id: those cannot be overridden and ignore the key variable. Source: docs/contracts/cli-b.md §5. */
export const PROVIDER = "turnd";

/** The configuration as a tree, as it is rendered and as it is shown. */
export function buildConfig(
  { model, baseUrl, envKey }: RenderedSettings,
  sandboxMode: SandboxMode,
  features?: CliFeatures,
  transport: Transport = "headless",
): TomlTable {
  const settings: Setting[] = [
    ...ALWAYS,
    ...fitSettings(BY_DEFAULT, features),
    // Tools do not see the key: by the default patterns, and by its name where that matches none of them.
    { path: "shell_environment_policy.exclude", value: [envKey, ...Object.keys(NO_REPOSITORY)] },
  ];
  return settings.reduce<TomlTable>((table, { path, value }) => writePath(table, path, value), {
    model,
    model_provider: PROVIDER,
    sandbox_mode: sandboxMode,
    model_providers: {
      [PROVIDER]: {
        name: PROVIDER,
        base_url: baseUrl,
        wire_api: "responses",
        // A server is given it with the thread: what is in its environment, every tool can read.
        ...(transport === "interactive" ? {} : { env_key: envKey }),
        request_max_retries: 2,
        stream_max_retries: 2,
        stream_idle_timeout_ms: 120_000,
      },
    },
  });
}

/**
 * Renders `config.toml`, accepted by the CLI under `--strict-config`. The key's value is not in it.
 *
 * @see docs/contracts/cli-b.md §14
 */
export function renderConfig(
  settings: RenderedSettings,
  sandboxMode: SandboxMode,
  {
    mcpServers = {},
    userHome,
    instructions,
    cliFeatures,
    transport,
  }: Pick<HomeInput, "mcpServers"> & {
    readonly userHome?: string | undefined;
    readonly instructions?: string | undefined;
    readonly cliFeatures?: CliFeatures | undefined;
    readonly transport?: Transport | undefined;
  } = {},
): string {
  const servers = addServers(buildConfig(settings, sandboxMode, cliFeatures, transport), mcpServers, userHome);
  const config = addInstructions(servers, instructions);
  return `# Written by turnd; changes are lost.\n${formatToml(config)}`;
}
