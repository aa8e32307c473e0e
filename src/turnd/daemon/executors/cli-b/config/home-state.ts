import { defined } from "../../../../../kit/defined.ts";
import type { KeptDirectory, LineRule } from "../../contract/home-state.ts";
import type { CliBDetails } from "./details.ts";

/**
 * What a turn finds in the CLI's directory of what an earlier one left: the history, pictures that it names, and a number.
 *
 * Everything else that lies there can be another's, since every tool can write there, and the CLI believes it: messages to
 * queue, instructions, skills, programs, prompts of models, triggers of databases. It needs none of it: it makes its databases
 * and skills anew, finds a thread without an index, and sends the same request (measured on every pinned version).
 */
export const KEPT = ["sessions", "generated_images", "installation_id"] as const;

/** What the CLI makes in a turn without being asked: no one need have put it there. Listed by test/e2e/opened-files.test.ts. */
export const MADE = [
  "config.toml",
  ".sandbox_migration",
  ".tmp*",
  "goals_1.sqlite*",
  "logs_2.sqlite*",
  "memories_1.sqlite*",
  "queue_1.sqlite*",
  "state_5.sqlite*",
  "thread_history_1.sqlite*",
  "models_cache.json",
  "shell_snapshots",
  "skills",
  "thread-writer-locks",
  "tmp",
] as const;

/** Skills of another beside those that the CLI unpacks are reported. */
export function keptOf(cliName: string): KeptDirectory[] {
  return [
    { path: `${cliName}/skills`, names: [], made: [".system"] },
    { path: cliName, names: KEPT, made: MADE },
  ];
}

/** Members that the pinned versions write in such a line, and which give a later turn neither text nor tool nor right. */
export const SESSION_META = [
  "account_scoped",
  "cli_version",
  "context_window",
  "cwd",
  "history_mode",
  "id",
  "originator",
  "runtime_workspace_roots",
  "session_id",
  "source",
  "thread_source",
  "timestamp",
] as const;
export const TURN_CONTEXT = [
  "approval_policy",
  "approvals_reviewer",
  "current_date",
  "cwd",
  "disabled_plugin_ids",
  "effort",
  "file_system_sandbox_policy",
  "model",
  "permission_profile",
  "personality",
  "realtime_active",
  "root_turn_id",
  "sandbox_policy",
  "summary",
  "timezone",
  "turn_id",
  "workspace_roots",
] as const;
export const THREAD_SETTINGS = [
  "approval_policy",
  "approvals_reviewer",
  "cwd",
  "disabled_plugin_ids",
  "effort",
  "model",
  "permission_profile",
  "requested_approvals_reviewer",
  "runtime_workspace_roots",
] as const;
/** They write these too; a resume takes them from the turn where they are missing. */
export const DROPPED = ["base_instructions", "collaboration_mode", "model_provider", "model_provider_id"] as const;

/**
 * What a history may say of the thread and its turns when it is resumed.
 *
 * The CLI believes more: `base_instructions` takes the place of the system prompt, `dynamic_tools` adds tools,
 * a provider that is no longer configured ends the resume, `selected_capability_roots` starts programs outside the sandbox, `collaboration_mode` holds instructions, and
 * `multi_agent_version` brings sub-agents back that are switched off, on 0.139.0 also where it is missing (measured).
 *
 * @param agents - false: the configuration leaves them off
 */
export function listHistoryRules(agents: boolean): LineRule[] {
  const version = agents ? { kept: ["multi_agent_version"] } : { kept: [], set: { multi_agent_version: "disabled" } };
  const rule = (
    type: string,
    names: readonly string[],
    { kept, set }: { kept: readonly string[]; set?: Record<string, string> },
  ): LineRule => ({
    typePath: "type",
    type,
    path: "payload",
    names: [...names, ...kept],
    dropped: DROPPED,
    ...defined({ set }),
  });
  return [
    rule("session_meta", SESSION_META, version),
    rule("turn_context", TURN_CONTEXT, version),
    {
      ...rule("thread_settings_applied", THREAD_SETTINGS, { kept: [] }),
      typePath: "payload.type",
      path: "payload.thread_settings",
    },
  ];
}

/**
 * Takes out what the CLI compares a resumed turn with: it then sends the turn's context anew, instructions included. With the
 * lines it sends none of changed instructions (measured on 0.169.0 and 0.171.0; 0.139.0 sends changed ones never).
 */
export const WITHOUT_TURN_CONTEXT: LineRule = {
  typePath: "type",
  type: "turn_context",
  // No object.
  path: "type",
  names: [],
  dropped: [],
};

/** Whether the operator's file decides about sub-agents. */
export function allowsAgents(details: CliBDetails): boolean {
  return details.source === "toml" && !details.overrides.some(({ path }) => path === "features.multi_agent");
}
