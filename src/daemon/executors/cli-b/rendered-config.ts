import toml from "@iarna/toml";
import type { RenderedSettings, SandboxMode } from "./details.ts";

/** Never a built-in id: those cannot be overridden and ignore the key variable. Source: contract section 5. */
const PROVIDER = "turnd";

/** The configuration as a tree, as it is rendered and as it is shown. */
export function buildConfig({ model, baseUrl, envKey }: RenderedSettings, sandboxMode: SandboxMode) {
  return {
    model,
    model_provider: PROVIDER,
    approval_policy: "never",
    sandbox_mode: sandboxMode,
    check_for_update_on_startup: false,
    model_providers: {
      [PROVIDER]: {
        name: PROVIDER,
        base_url: baseUrl,
        wire_api: "responses",
        env_key: envKey,
        request_max_retries: 2,
        stream_max_retries: 2,
        stream_idle_timeout_ms: 120_000,
      },
    },
    // With plugins and analytics off nothing but the provider is spoken to. Source: contract section 11.
    analytics: { enabled: false },
    feedback: { enabled: false },
    // Tools do not see the key: by the default patterns, and by its name where that matches none of them.
    shell_environment_policy: { ignore_default_excludes: false, exclude: [envKey] },
    // A shell snapshot defeats the policy above and writes the key to disk; events of sub-agents are not printed.
    features: { plugins: false, apps: false, shell_snapshot: false, multi_agent: false },
  };
}

/**
 * Renders `config.toml`, accepted by the CLI under `--strict-config`. The key's value is not in it.
 *
 * @see contract section 14
 */
export function renderConfig(settings: RenderedSettings, sandboxMode: SandboxMode): string {
  return `# Written by turnd; changes are lost.\n${toml.stringify(buildConfig(settings, sandboxMode))}`;
}
