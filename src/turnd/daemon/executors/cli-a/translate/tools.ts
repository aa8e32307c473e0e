import { z } from "zod";
import { defined } from "../../../../../kit/defined.ts";
import type { ToolKind, ToolStatus, TurnEvent } from "../../../../protocol/index.ts";
import type { CliATool } from "../records/record.ts";

type ToolStarted = Extract<TurnEvent, { type: "tool.started" }>["data"];
type ToolEnded = Extract<TurnEvent, { type: "tool.ended" }>["data"];
type Denial = Extract<TurnEvent, { type: "permission.denied" }>["data"];
type PlanEntries = Extract<TurnEvent, { type: "plan.updated" }>["data"]["entries"];

/** The tools both versions bring along. Source: docs/contracts/cli-a.md §1.1. */
const KINDS: Readonly<Record<string, ToolKind>> = {
  apply_patch: "edit",
  bash: "execute",
  batch: "other",
  codesearch: "search",
  edit: "edit",
  glob: "search",
  grep: "search",
  invalid: "other",
  list: "read",
  lsp: "search",
  multiedit: "edit",
  patch: "edit",
  plan_enter: "other",
  plan_exit: "other",
  question: "other",
  read: "read",
  skill: "read",
  task: "subagent",
  todoread: "plan",
  todowrite: "plan",
  webfetch: "fetch",
  websearch: "fetch",
  write: "edit",
};

/** A permission that was asked for and could not be given: the run stops with it. Source: docs/contracts/cli-a.md §7. */
const AUTO_REJECTED = /^The user rejected permission to use this specific tool call/;
const RULED_OUT = /^The user has specified a rule which prevents you from using this specific tool call/;
const ABORTED = /^Tool execution aborted/;

const text = z.string().min(1).optional().catch(undefined);
const line = z.int().positive().optional().catch(undefined);
const Input = z
  .object({ filePath: text, path: text, offset: line, oldString: z.string().optional().catch(undefined) })
  .catch({});
/** What a call reports besides its output. Source: docs/contracts/cli-a.md §1.1. */
export const Metadata = z.object({
  exit: z.int().optional().catch(undefined),
  truncated: z.boolean().optional().catch(undefined),
  exists: z.boolean().optional().catch(undefined),
  diff: text,
  filepath: text,
  filediff: z.object({ file: text }).optional().catch(undefined),
  files: z
    .array(z.object({ filePath: text, relativePath: text, type: text, diff: text, patch: text }))
    .optional()
    .catch(undefined),
});
/** The list of a todo call. */
export const Todos = z.object({
  todos: z.array(
    z.object({
      content: z.string(),
      status: z.enum(["pending", "in_progress", "completed", "cancelled"]).catch("pending"),
      priority: z.string().optional().catch(undefined),
    }),
  ),
});
const InvalidInput = z.object({ error: text }).catch({});
const DenyRules = z.array(z.object({ permission: z.string(), pattern: z.string(), action: z.string() }));

/** A call, whether it has ended or not. */
interface CallBegun {
  readonly tool: string;
  readonly state: { readonly input?: unknown; readonly title?: string | undefined };
}

/** What a call is, as far as its beginning would have shown. */
export function toToolCall({ tool, state }: CallBegun, id: string): ToolStarted {
  const { filePath, path, offset } = Input.parse(state.input);
  const at = filePath ?? path;
  const title = state.title ?? "";
  return {
    tool_call_id: id,
    name: tool,
    kind: toKind(tool),
    ...(title === "" ? {} : { title }),
    input: state.input,
    ...(at === undefined ? {} : { locations: [{ path: at, ...defined({ line: offset }) }] }),
  };
}

/**
 * How a call ended. For CLI A a command that ran is completed whatever its exit code; a client gets one meaning for both
 * CLIs, and CLI B's is that a command which exits with another code than 0 has failed.
 */
export function toToolEnd({ tool, state }: CliATool): Omit<ToolEnded, keyof ToolStarted> {
  const duration = state.time?.end === undefined ? undefined : state.time.end - state.time.start;
  const common = duration === undefined || duration < 0 ? {} : { duration_ms: duration };
  if (state.status === "error") return { status: toErrorStatus(state.error), error: state.error, ...common };

  const metadata = Metadata.parse(state.metadata);
  const invalid = tool === "invalid" ? (InvalidInput.parse(state.input).error ?? state.output) : undefined;
  const changes = toChanges(tool, state.input, metadata);
  return {
    status: invalid === undefined && (metadata.exit ?? 0) === 0 ? "completed" : "failed",
    output: { text: state.output, bytes: Buffer.byteLength(state.output), truncated: metadata.truncated ?? false },
    ...defined({ exit_code: metadata.exit }),
    ...(changes.length === 0 ? {} : { changes }),
    ...defined({ error: invalid }),
    ...common,
  };
}

/** The list a todo call leaves, or undefined when it leaves none. */
export function toPlan({ tool, state }: CliATool): PlanEntries | undefined {
  if (tool !== "todowrite" || state.status !== "completed") return undefined;
  const todos = Todos.safeParse(state.metadata);
  const read = todos.success ? todos : Todos.safeParse(state.input);
  return read.data?.todos.map(({ content, status, priority }) => ({
    content,
    status,
    ...defined({ priority }),
  }));
}

/** Whether a call was asked for and could not be approved. */
export function isAutoRejected({ state }: CliATool): boolean {
  return state.status === "error" && AUTO_REJECTED.test(state.error);
}

/**
 * The permission that a rule of the configuration took away.
 *
 * @param fallback - named when the rules cannot be read
 * @returns undefined for any other error
 */
export function readDenial(error: string, fallback: string): Denial | undefined {
  if (!RULED_OUT.test(error)) return undefined;
  const [message = error] = error.split(" Here are some of the relevant rules");
  const start = error.indexOf("[");
  const denials = start < 0 ? [] : parseRules(error.slice(start)).filter(({ action }) => action === "deny");
  const permission = denials.at(-1)?.permission;
  if (permission === undefined) return { permission: fallback, message };
  // The CLI lists the rules it looked at, not the one that decided.
  const patterns = denials.filter((rule) => rule.permission === permission).map(({ pattern }) => pattern);
  return { permission, patterns: [...new Set(patterns)], message };
}

function parseRules(json: string): z.infer<typeof DenyRules> {
  try {
    return DenyRules.safeParse(JSON.parse(json)).data ?? [];
  } catch {
    // The rules only refine what the sentence says already.
    return [];
  }
}

/**
 * Whether a call's tool is known: it is one of the CLI's own, or the call has the form of an MCP server's, `<server>_<tool>`
 * without a title, telling nothing of itself but whether its output was cut. A failed call has neither to tell it by.
 * @see docs/contracts/cli-a.md §1.1
 */
export function isKnownTool(tool: string, state: unknown): boolean {
  return Object.hasOwn(KINDS, tool) || (isForeign(tool) && McpState.safeParse(state).success);
}

const anything = z.unknown().optional();
const McpState = z.object({
  title: z.literal("").optional(),
  metadata: z.strictObject({ truncated: anything, outputPath: anything }).optional(),
});

/** What is none of the CLI's own comes from an MCP server or from a plugin. */
function toKind(tool: string): ToolKind {
  if (Object.hasOwn(KINDS, tool)) return KINDS[tool] ?? "other";
  return isForeign(tool) ? "mcp" : "other";
}

function isForeign(tool: string): boolean {
  return tool.includes("_");
}

function toErrorStatus(error: string): ToolStatus {
  if (AUTO_REJECTED.test(error) || RULED_OUT.test(error)) return "denied";
  return ABORTED.test(error) ? "interrupted" : "failed";
}

type Change = NonNullable<ToolEnded["changes"]>[number];

function toChanges(tool: string, input: unknown, metadata: z.infer<typeof Metadata>): Change[] {
  if (toKind(tool) !== "edit") return [];
  const { filePath, oldString } = Input.parse(input);
  switch (tool) {
    case "write": {
      const path = metadata.filepath ?? filePath;
      const change = metadata.exists === true ? "update" : "add";
      return path === undefined ? [] : [toChange(path, change, metadata.diff)];
    }
    case "edit":
    case "multiedit": {
      const path = metadata.filediff?.file ?? filePath;
      const change = oldString === "" ? "add" : "update";
      return path === undefined ? [] : [toChange(path, change, metadata.diff)];
    }
    case "apply_patch":
    case "patch":
      return (metadata.files ?? []).flatMap((file) => {
        const path = file.filePath ?? file.relativePath;
        const change = file.type === "add" || file.type === "delete" ? file.type : "update";
        return path === undefined ? [] : [toChange(path, change, file.diff ?? file.patch)];
      });
    default:
      return [];
  }
}

function toChange(path: string, change: Change["change"], diff: string | undefined): Change {
  return { path, change, ...defined({ diff }) };
}
