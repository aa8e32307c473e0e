import type { Conversation, ToolOutcome } from "./conversation.ts";
import type { Part } from "./reply.ts";

/** Between the two parts of the name of a tool in a namespace; no tool's name contains one. */
export const IN_NAMESPACE = ".";

type ToolPart = Extract<Part, { type: "tool_call" }>;

/** What a scenario wants done, before it becomes a call of a tool that the CLI offers. */
export type Action =
  | { readonly type: "run"; readonly command: string; readonly purpose: string; readonly seconds?: number }
  | { readonly type: "write"; readonly path: string; readonly content: string }
  | { readonly type: "read"; readonly path: string }
  | { readonly type: "edit"; readonly path: string; readonly before: string; readonly after: string }
  | { readonly type: "plan"; readonly entries: readonly PlanEntry[] }
  | { readonly type: "goal"; readonly objective: string }
  | {
      readonly type: "mcp";
      readonly server: string;
      readonly tool: string;
      readonly input: Readonly<Record<string, unknown>>;
    };

export interface PlanEntry {
  readonly text: string;
  readonly status: "pending" | "in_progress" | "completed";
}

/**
 * Makes an action a call of the offered tools. Paths are relative to the workspace.
 *
 * @returns null when no offered tool can do it
 */
export function callTool(action: Action, conversation: Conversation): ToolPart | null {
  const offered = new Set(conversation.tools);
  // CLI A has no such tool.
  if (action.type === "goal") {
    return offered.has("create_goal") ? call("create_goal", { objective: action.objective }) : null;
  }
  if (action.type === "mcp") {
    const { server, tool, input } = action;
    const name = [`${server}_${tool}`, `mcp__${server}${IN_NAMESPACE}${tool}`].find((word) => offered.has(word));
    return name === undefined ? null : call(name, input);
  }
  const inCliA = inCliAWords(action);
  if (offered.has(inCliA.name)) return inCliA;
  if (action.type === "plan") return offered.has("update_plan") ? updatePlan(action.entries) : null;
  const command = shellCommand(action);
  // A command that is still running when this time is over is polled; see `pollCommand`.
  if (offered.has("exec_command")) return call("exec_command", { cmd: command, yield_time_ms: 10_000 });
  if (!offered.has("shell_command")) return null;
  const seconds = action.type === "run" ? (action.seconds ?? 0) : 0;
  return call("shell_command", { command, timeout_ms: (seconds + 60) * 1_000 });
}

/**
 * Asks for the rest of a command that CLI B left running: its `exec_command` answers after a while in any case.
 *
 * @see the text of its result: `Process running with session ID 12345`
 */
export function pollCommand({ output }: ToolOutcome): ToolPart | null {
  const session = /^Process running with session ID (\d+)$/m.exec(output)?.[1];
  if (session === undefined) return null;
  return call("write_stdin", { session_id: Number(session), chars: "", yield_time_ms: 30_000 });
}

function call(name: string, input: Readonly<Record<string, unknown>>): ToolPart {
  return { type: "tool_call", name, input };
}

function inCliAWords(action: Exclude<Action, { type: "goal" | "mcp" }>): ToolPart {
  switch (action.type) {
    case "run": {
      const { command, purpose: description, seconds } = action;
      const timeout = seconds === undefined ? {} : { timeout: (seconds + 60) * 1_000 };
      return call("bash", { command, description, ...timeout });
    }
    case "write":
      return call("write", { filePath: action.path, content: action.content });
    case "read":
      return call("read", { filePath: action.path });
    case "edit":
      return call("edit", { filePath: action.path, oldString: action.before, newString: action.after });
    case "plan":
      return call("todowrite", {
        todos: action.entries.map(({ text, status }, index) => ({
          content: text,
          status,
          priority: "medium",
          id: String(index + 1),
        })),
      });
  }
}

function updatePlan(entries: readonly PlanEntry[]): ToolPart {
  return call("update_plan", { plan: entries.map(({ text, status }) => ({ step: text, status })) });
}

/** CLI B has no file tools for an unknown model, but takes `apply_patch` with a here-document for a file change. */
function shellCommand(action: Exclude<Action, { type: "plan" | "goal" | "mcp" }>): string {
  switch (action.type) {
    case "run":
      return action.command;
    case "read":
      return `cat '${action.path}'`;
    case "write":
      return patch(`*** Add File: ${action.path}\n${prefixLines(action.content, "+")}`);
    case "edit":
      return patch(
        `*** Update File: ${action.path}\n@@\n${prefixLines(action.before, "-")}\n${prefixLines(action.after, "+")}`,
      );
  }
}

function patch(body: string): string {
  return `apply_patch <<'EOF'\n*** Begin Patch\n${body}\n*** End Patch\nEOF`;
}

function prefixLines(text: string, prefix: string): string {
  return text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => prefix + line)
    .join("\n");
}
