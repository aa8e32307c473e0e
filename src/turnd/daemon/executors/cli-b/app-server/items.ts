import { z } from "zod";
import { CliBItem } from "../records/record.ts";
import type { ToolItem } from "../translate/items.ts";

const item = { id: z.string() };
const status = z.string().catch("inProgress");

const Command = z.object({
  ...item,
  type: z.literal("commandExecution"),
  command: z.string(),
  cwd: z.string().optional().catch(undefined),
  aggregatedOutput: z.string().nullish(),
  exitCode: z.int().nullish(),
  status,
});
const FileChange = z.object({
  ...item,
  type: z.literal("fileChange"),
  changes: z.array(
    z.object({
      path: z.string(),
      kind: z.object({ type: z.string() }),
      diff: z.string().catch(""),
    }),
  ),
  status,
});
const McpCall = z.object({
  ...item,
  type: z.literal("mcpToolCall"),
  server: z.string(),
  tool: z.string(),
  arguments: z.unknown(),
  result: z.object({ content: z.array(z.unknown()).default([]) }).nullish(),
  error: z.object({ message: z.string() }).nullish(),
  status,
});
const AgentCall = z.object({
  ...item,
  type: z.literal("collabAgentToolCall"),
  tool: z.string(),
  prompt: z.string().nullish(),
  receiverThreadIds: z.array(z.string()).default([]),
  agentsStates: z.record(z.string(), z.object({ status: z.string(), message: z.string().nullish() })).default({}),
  status,
});
const WebSearch = z.object({
  ...item,
  type: z.literal("webSearch"),
  query: z.string().default(""),
  action: z.object({ type: z.string() }).nullish(),
});
const ServerTool = z.discriminatedUnion("type", [Command, FileChange, McpCall, AgentCall, WebSearch]);

/** Items that are texts. */
export const TextItem = z.discriminatedUnion("type", [
  z.object({ ...item, type: z.literal("agentMessage"), text: z.string(), phase: z.string().nullish() }),
  z.object({ ...item, type: z.literal("plan"), text: z.string() }),
  z.object({
    ...item,
    type: z.literal("reasoning"),
    summary: z.array(z.string()).default([]),
    content: z.array(z.string()).default([]),
  }),
]);
export type TextItem = z.infer<typeof TextItem>;

/** What an input became that the server has taken. */
export const UserMessage = z.object({ ...item, type: z.literal("userMessage"), clientId: z.string().nullish() });

/** Types that are neither text nor tool: what they say is said otherwise, or is nothing for a reader. */
export const OTHER_ITEMS: ReadonlySet<string> = new Set([
  "userMessage",
  "hookPrompt",
  "functionCallOutput",
  "dynamicToolCall",
  "subAgentActivity",
  "imageView",
  "sleep",
  "imageGeneration",
  "enteredReviewMode",
  "exitedReviewMode",
  "contextCompaction",
]);

/** What a diff of whole lines says of a file that was made or removed; the server sends its content alone. */
function wholeDiff(content: string, sign: "+" | "-"): string {
  if (content === "") return "";
  const lines = content.replace(/\n$/, "").split("\n");
  const range = sign === "+" ? `@@ -0,0 +1,${lines.length} @@` : `@@ -1,${lines.length} +0,0 @@`;
  const end = content.endsWith("\n") ? "" : "\n\\ No newline at end of file";
  return `${range}\n${lines.map((line) => `${sign}${line}`).join("\n")}${end}\n`;
}

function diffOf({ kind, diff }: z.infer<typeof FileChange>["changes"][number]): string {
  if (kind.type === "add") return wholeDiff(diff, "+");
  return kind.type === "delete" ? wholeDiff(diff, "-") : diff;
}

/**
 * A tool's item in the words of `exec`, so that both transports have one table of tools.
 *
 * @param id - what it is called in the turn: ids of the provider's are not unique
 * @returns undefined for what is no tool, or has another form
 */
export function toToolItem(value: unknown, id: string): ToolItem | undefined {
  const parsed = ServerTool.safeParse(value);
  if (!parsed.success) return undefined;
  const tool = toExecItem(parsed.data, id);
  const known = CliBItem.safeParse(tool);
  return known.success && isTool(known.data) ? known.data : undefined;
}

function isTool(of: CliBItem): of is ToolItem {
  return !["agent_message", "reasoning", "todo_list", "error"].includes(of.type);
}

function toExecItem(tool: z.infer<typeof ServerTool>, id: string): object {
  switch (tool.type) {
    case "commandExecution":
      return {
        type: "command_execution",
        id,
        command: tool.command,
        aggregated_output: tool.aggregatedOutput ?? "",
        exit_code: tool.exitCode ?? null,
        status: tool.status,
      };
    case "fileChange":
      return {
        type: "file_change",
        id,
        changes: tool.changes.map((change) => ({
          path: change.path,
          kind: change.kind.type,
          diff: diffOf(change),
        })),
        status: tool.status,
      };
    case "mcpToolCall":
      return {
        type: "mcp_tool_call",
        id,
        server: tool.server,
        tool: tool.tool,
        arguments: tool.arguments,
        result: tool.result ?? null,
        error: tool.error ?? null,
        status: tool.status,
      };
    case "collabAgentToolCall":
      return {
        type: "collab_tool_call",
        id,
        tool: tool.tool,
        prompt: tool.prompt ?? null,
        receiver_thread_ids: tool.receiverThreadIds,
        agents_states: tool.agentsStates,
        status: tool.status,
      };
    case "webSearch":
      return {
        type: "web_search",
        id,
        query: tool.query,
        action: tool.action && { type: toActionType(tool.action.type) },
      };
  }
}

function toActionType(type: string): string {
  return { openPage: "open_page", findInPage: "find_in_page" }[type] ?? type;
}
