import { defined } from "../../../../../kit/defined.ts";
import type { TurnEvent } from "../../../../protocol/index.ts";
import type { CliBItem } from "../records/record.ts";

/** What a tool event says of the call itself. */
export type ToolCall = Extract<TurnEvent, { type: "tool.started" }>["data"];
/** How a tool call ended. */
export type ToolEnd = Omit<Extract<TurnEvent, { type: "tool.ended" }>["data"], keyof ToolCall>;

/** Items that are tool calls. */
export type ToolItem = Extract<
  CliBItem,
  { type: "command_execution" | "file_change" | "mcp_tool_call" | "collab_tool_call" | "web_search" }
>;

/** CLI B cuts the middle out of a longer output, at character borders. Source: docs/contracts/cli-b.md §2.2. */
const OUTPUT_CAP_BYTES = 1_048_576;
/** The cut may leave out a partial character on either side. */
const CAP_TOLERANCE_BYTES = 6;
const MAX_TITLE_CHARACTERS = 200;

/** Describes the call an item stands for. */
export function toToolCall(item: ToolItem): ToolCall {
  switch (item.type) {
    case "command_execution":
      return {
        tool_call_id: item.id,
        name: item.type,
        kind: "execute",
        title: shorten(unwrapShell(item.command)),
        input: { command: item.command },
      };
    case "file_change":
      return {
        tool_call_id: item.id,
        name: item.type,
        kind: "edit",
        title: shorten(item.changes.map((change) => `${change.kind} ${change.path}`).join(", ")),
        input: { changes: item.changes.map(({ path, kind }) => ({ path, kind })) },
        locations: item.changes.map(({ path }) => ({ path })),
      };
    case "mcp_tool_call":
      return {
        tool_call_id: item.id,
        name: `${item.server}.${item.tool}`,
        kind: "mcp",
        title: shorten(`${item.server}: ${item.tool}`),
        ...defined({ input: item.arguments }),
      };
    case "collab_tool_call":
      return {
        tool_call_id: item.id,
        name: item.tool,
        kind: "subagent",
        title: shorten(item.prompt ?? item.tool),
        input: { prompt: item.prompt ?? null, receiver_thread_ids: item.receiver_thread_ids },
      };
    case "web_search":
      return {
        tool_call_id: item.id,
        name: item.type,
        kind: toLookupKind(item),
        title: shorten(item.query),
        input: { query: item.query, action: item.action?.type ?? null },
      };
  }
}

/** 0.139.0 calls a page that was opened `other`, with its address as the query; 0.169.0 names what was done to a page. */
function toLookupKind({ action, query }: Extract<ToolItem, { type: "web_search" }>): "search" | "fetch" {
  if (action?.type === "open_page" || action?.type === "find_in_page") return "fetch";
  return action?.type === "search" || !/^https?:\/\//.test(query) ? "search" : "fetch";
}

/** How the call of a completed item ended. */
export function toToolEnd(item: ToolItem): ToolEnd {
  switch (item.type) {
    case "command_execution":
      return {
        status: toStatus(item.status),
        output: toOutput(item.aggregated_output),
        ...(typeof item.exit_code === "number" ? { exit_code: item.exit_code } : {}),
      };
    case "file_change": {
      const status = toStatus(item.status);
      // What a failed patch wanted is its input; nothing was changed.
      return status === "completed" ? { status, changes: item.changes.map(toChange) } : { status };
    }
    case "mcp_tool_call":
      return {
        status: toStatus(item.status),
        ...(item.result ? { output: toOutput(item.result.content.map(toText).join("\n")) } : {}),
        ...(item.error ? { error: item.error.message } : {}),
      };
    case "collab_tool_call": {
      const states = Object.entries(item.agents_states).map(([id, state]) =>
        [`${id}: ${state.status}`, ...(state.message ? [state.message] : [])].join("\n"),
      );
      return { status: toStatus(item.status), ...(states.length > 0 ? { output: toOutput(states.join("\n")) } : {}) };
    }
    case "web_search":
      return { status: "completed" };
  }
}

function toStatus(status: string): ToolEnd["status"] {
  if (status === "completed") return "completed";
  return status === "declined" ? "denied" : "failed";
}

function toOutput(text: string): NonNullable<ToolEnd["output"]> {
  const bytes = Buffer.byteLength(text);
  return { text, bytes, truncated: bytes >= OUTPUT_CAP_BYTES - CAP_TOLERANCE_BYTES };
}

function toChange(change: {
  path: string;
  kind: string;
  diff?: string | undefined;
}): NonNullable<ToolEnd["changes"]>[number] {
  const kind = change.kind === "add" || change.kind === "delete" ? change.kind : "update";
  const { path, diff } = change;
  return { path, change: kind, ...(diff === undefined || diff === "" ? {} : { diff }) };
}

function toText(content: unknown): string {
  if (typeof content === "object" && content !== null && "text" in content && typeof content.text === "string") {
    return content.text;
  }
  return JSON.stringify(content) ?? "";
}

/** `/bin/bash -lc 'ls'` reads `ls`; a command that is quoted in parts stays as it is. */
function unwrapShell(command: string): string {
  const [, single, double, bare] = /^\S*\/\w*sh -l?c (?:'([^']*)'|"([^"\\]*)"|([^'"\s]+))$/s.exec(command) ?? [];
  return single ?? double ?? bare ?? command;
}

function shorten(text: string): string {
  const end = text.indexOf("\n");
  if (end === -1 && text.length <= MAX_TITLE_CHARACTERS) return text;
  return `${text.slice(0, end === -1 ? MAX_TITLE_CHARACTERS : Math.min(end, MAX_TITLE_CHARACTERS))}…`;
}
