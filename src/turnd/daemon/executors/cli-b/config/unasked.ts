import type { VersionedSetting } from "./setting.ts";
import type { Setting } from "./setting.ts";

/**
 * What holds whatever the operator's file says; given on the command line, which beats every file.
 *
 * No one can approve. A shell snapshot is a file with the key in it. Once a thread has a goal, a resumed turn pursues that
 * instead of its prompt, prints nothing and never ends; switched off, a thread that has one is answered as any other
 * (measured on 0.139.0).
 */
export const ALWAYS: readonly Setting[] = [
  { path: "approval_policy", value: "never" },
  { path: "features.shell_snapshot", value: false },
  { path: "features.goals", value: false },
];

/** A setting that the operator's file can decide otherwise, by this path or by the one of what it is about. */
export interface Default extends VersionedSetting {
  readonly about?: string;
}

/**
 * What holds unless the operator's file decides otherwise: nothing but the provider is spoken to, and nothing runs that
 * neither the prompt nor the operator asked for. Source: docs/contracts/cli-b.md §10, §11.
 */
export const BY_DEFAULT: readonly Default[] = [
  { path: "check_for_update_on_startup", value: false },
  { path: "analytics.enabled", value: false },
  { path: "feedback.enabled", value: false },
  { path: "features.plugins", value: false },
  { path: "features.apps", value: false },
  // Commands of a hooks.json that a tool may have left.
  { path: "features.hooks", value: false, about: "hooks" },
  // A model of its own that reads old threads in the background and writes notes for later ones.
  { path: "features.memories", value: false, about: "memories" },
  // What sub-agents do is not printed.
  { path: "features.multi_agent", value: false, about: "agents", successor: "agents.enabled" },
  // Installs what a skill names as its MCP servers.
  { path: "features.skill_mcp_dependency_install", value: false },
  { path: "features.tool_suggest", value: false, about: "tool_suggest" },
  { path: "shell_environment_policy.ignore_default_excludes", value: false },
  ...[
    // Waits for a network that refuses, without a count and without an end.
    "unbounded_connection_retries",
    // Programs beside the CLI: a server that outlives the turn, and a host for scripts of the model.
    "daemon_auto_start",
    "code_mode_host",
    "code_mode_host_grpc",
    // Where requests go, and to whom: another proxy than the environment's, lists of models, programs and plugins.
    "system_proxy_fallback",
    "api_key_model_discovery",
    "api_key_cyber_access_programs",
    "remote_plugin",
    "plugin_sharing",
    "skill_search",
    // Tools and helpers of its desktop application, and of a person at a terminal.
    "bedrock_setup_wizard",
    "browser_annotation_api",
    "browser_use",
    "browser_use_external",
    "browser_use_full_cdp_access",
    "cli_daybreak",
    "computer_use",
    "in_app_browser",
    "in_app_chat",
    "in_app_dictation",
    "in_app_local_automation",
    "in_app_updates",
    "in_app_voice",
    // Histories that turnd cannot look into.
    "local_thread_store_compression",
    // A turn that sleeps looks like one that hangs.
    "sleep_tool",
  ].map((name): Default => ({ path: `features.${name}`, value: false, isOptional: true })),
];

/**
 * Keeps the CLI's own git away from the workspace's repository; its tools do not see it.
 *
 * Otherwise every request carries the repository's remote addresses in a header, tokens in them too, and `git status` runs
 * the filters of the repository's configuration outside the sandbox, in a read-only turn too (measured on 0.139.0).
 */
export const NO_REPOSITORY = { GIT_DIR: "/dev/null" } as const;
