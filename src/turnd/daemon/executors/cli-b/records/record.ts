import { z } from "zod";
import { parseJson, readJsonLine } from "../../contract/json-line.ts";

/** What every item has; status words vary by item and are read where they are used. */
const item = { id: z.string() };

const AgentsState = z.object({ status: z.string(), message: z.string().nullish() });

/** The item types of `exec --json`. Loose: only the fields we read. Source: docs/contracts/cli-b.md §2.2. */
export const CliBItem = z.discriminatedUnion("type", [
  z.object({ ...item, type: z.literal("agent_message"), text: z.string() }),
  z.object({ ...item, type: z.literal("reasoning"), text: z.string() }),
  z.object({
    ...item,
    type: z.literal("command_execution"),
    command: z.string(),
    aggregated_output: z.string().default(""),
    exit_code: z.int().nullish(),
    status: z.string(),
  }),
  z.object({
    ...item,
    type: z.literal("file_change"),
    /** The app server sends a diff as well. */
    changes: z.array(z.object({ path: z.string(), kind: z.string(), diff: z.string().optional() })),
    status: z.string(),
  }),
  z.object({
    ...item,
    type: z.literal("mcp_tool_call"),
    server: z.string(),
    tool: z.string(),
    arguments: z.unknown(),
    result: z.object({ content: z.array(z.unknown()).default([]) }).nullish(),
    error: z.object({ message: z.string() }).nullish(),
    status: z.string(),
  }),
  z.object({
    ...item,
    type: z.literal("collab_tool_call"),
    tool: z.string(),
    prompt: z.string().nullish(),
    receiver_thread_ids: z.array(z.string()).default([]),
    agents_states: z.record(z.string(), AgentsState).default({}),
    status: z.string(),
  }),
  z.object({
    ...item,
    type: z.literal("web_search"),
    query: z.string().default(""),
    action: z.object({ type: z.string() }).nullish(),
  }),
  z.object({
    ...item,
    type: z.literal("todo_list"),
    items: z.array(z.object({ text: z.string(), completed: z.boolean() })),
  }),
  z.object({ ...item, type: z.literal("error"), message: z.string() }),
]);
export type CliBItem = z.infer<typeof CliBItem>;

const tokens = z.int().nonnegative();

/** Totals of the whole thread so far, not of the turn. Source: docs/contracts/cli-b.md §2.3 (7). */
export const CliBUsage = z.object({
  input_tokens: tokens,
  cached_input_tokens: tokens.default(0),
  /** Absent in 0.139.0. */
  cache_write_input_tokens: tokens.default(0),
  output_tokens: tokens,
  reasoning_output_tokens: tokens.default(0),
});
export type CliBUsage = z.infer<typeof CliBUsage>;

/** One line of CLI B's stdout. Source: docs/contracts/cli-b.md §2.1. */
export const CliBRecord = z.discriminatedUnion("type", [
  z.object({ type: z.literal("thread.started"), thread_id: z.string().min(1) }),
  z.object({ type: z.literal("turn.started") }),
  z.object({ type: z.literal("item.started"), item: CliBItem }),
  z.object({ type: z.literal("item.updated"), item: CliBItem }),
  z.object({ type: z.literal("item.completed"), item: CliBItem }),
  // A turn is completed whatever its usage looks like; usage that cannot be read is unknown.
  z.object({ type: z.literal("turn.completed"), usage: CliBUsage.optional().catch(undefined) }),
  z.object({ type: z.literal("turn.failed"), error: z.object({ message: z.string() }) }),
  z.object({ type: z.literal("error"), message: z.string() }),
]);
export type CliBRecord = z.infer<typeof CliBRecord>;

/** A line, read; `value` is all of it, `type` of an unknown record is what it calls itself. */
export type ReadLine =
  | { readonly kind: "blank" }
  | { readonly kind: "record"; readonly record: CliBRecord; readonly value: unknown }
  | {
      readonly kind: "unknown";
      readonly reason: "not_json" | "unknown_type" | "bad_shape";
      readonly type?: string;
      readonly value?: unknown;
    };

const RECORD_TYPES = new Set<string>(CliBRecord.options.map((option) => option.shape.type.value));
const ITEM_TYPES = new Set<string>(CliBItem.options.map((option) => option.shape.type.value));
const Typed = z.object({ type: z.string(), item: z.object({ type: z.string() }).optional().catch(undefined) });

/** Reads one line of stdout; never throws. */
export function readRecord(text: string): ReadLine {
  const usual = readText(text);
  if (usual !== undefined) return { kind: "record", record: usual, value: usual };
  const read = readJsonLine(text);
  if (read.kind === "blank") return read;
  if (read.kind === "not_json") return { kind: "unknown", reason: "not_json" };
  if (read.kind === "too_deep") return { kind: "unknown", reason: "bad_shape", value: read.value };
  const record = CliBRecord.safeParse(read.value);
  if (record.success) return { kind: "record", record: record.data, value: read.value };
  const typed = Typed.safeParse(read.value);
  if (!typed.success) return { kind: "unknown", reason: "bad_shape", value: read.value };
  const { type, item: inner } = typed.data;
  const isKnown = RECORD_TYPES.has(type) && (inner === undefined || ITEM_TYPES.has(inner.type));
  return { kind: "unknown", reason: isKnown ? "bad_shape" : "unknown_type", type, value: read.value };
}

/** A text as CLI B prints it: what stands before its id, between id and text, and behind the text. */
const TEXT_HEAD = '{"type":"item.completed","item":{"id":"';
const TEXT_MIDDLES = [
  { type: "agent_message", middle: '","type":"agent_message","text":' },
  { type: "reasoning", middle: '","type":"reasoning","text":' },
] as const;
const TEXT_TAIL = "}}";
const PLAIN_ID = /^\w{1,64}$/;

/**
 * What a client waits for most, a text: read as JSON and schema read it. For a line that comes alone that takes a tenth of
 * their time; V8 is slow to make objects of JSON where it has not done so for a while.
 *
 * @returns undefined for every other record, and for one that is written in another way
 */
function readText(line: string): CliBRecord | undefined {
  if (!line.startsWith(TEXT_HEAD) || !line.endsWith(TEXT_TAIL)) return undefined;
  const idEnd = line.indexOf('"', TEXT_HEAD.length);
  const found = TEXT_MIDDLES.find(({ middle }) => line.startsWith(middle, idEnd));
  const id = line.slice(TEXT_HEAD.length, idEnd);
  if (found === undefined || !PLAIN_ID.test(id)) return undefined;
  // More than one string is no JSON.
  const text = parseJson(line.slice(idEnd + found.middle.length, -TEXT_TAIL.length));
  return typeof text === "string" ? { type: "item.completed", item: { id, type: found.type, text } } : undefined;
}
