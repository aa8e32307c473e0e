import { z } from "zod";
import { defined } from "../../../../../kit/defined.ts";
import { readJsonLine } from "../../contract/json-line.ts";

/** Numbers the CLI may leave out or print as null (1.3.2 turns NaN into it). */
const count = z.number().nonnegative().catch(0);
/** What no provider asks for one step: beyond it a number says nothing, and sums stay within what JSON can hold. */
const cost = z.number().nonnegative().max(1_000_000).catch(0);
/** Milliseconds since 1970, as far as there are dates. */
const moment = z.number().nonnegative().max(8.64e15);
const Time = z.object({ start: moment, end: moment.optional() }).optional().catch(undefined);
/** An id that a record lacks, or a later version calls otherwise, costs what it stands for and not the record. */
const id = z.string().catch("");
const part = { id, messageID: id };
const text = { ...part, text: z.string() };
/** Whatever the model gave: handed on as it is. */
const input = z.unknown().default({});
/** Not zod's own record, which would copy it. */
const bag = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);

/** Tokens of one step. `total` is absent when the provider sent none. Source: docs/contracts/cli-a.md §1.2. */
export const CliATokens = z.object({
  total: z.number().optional().catch(undefined),
  input: count,
  output: count,
  reasoning: count,
  cache: z.object({ read: count, write: count }).catch({ read: 0, write: 0 }),
});
export type CliATokens = z.infer<typeof CliATokens>;

/** How a tool call ended; calls that still run are never printed. Source: docs/contracts/cli-a.md §1.1. */
export const CliAToolState = z.discriminatedUnion("status", [
  z.object({
    status: z.literal("completed"),
    input,
    output: z.string().default(""),
    title: z.string().catch(""),
    metadata: bag.catch({}),
    time: Time,
    attachments: z.array(z.unknown()).optional().catch(undefined),
  }),
  z.object({
    status: z.literal("error"),
    input,
    error: z.string(),
    metadata: bag.optional().catch(undefined),
    time: Time,
  }),
]);

/** A finished tool call. */
export const CliATool = z.object({ ...part, callID: z.string(), tool: z.string(), state: CliAToolState });
export type CliATool = z.infer<typeof CliATool>;

/** Of a provider's answer, as far as they tell what it is. */
export const ResponseHeaders = z
  .object({ "content-type": z.string().optional().catch(undefined) })
  .optional()
  .catch(undefined);

/** What went wrong, in the CLI's words. Source: docs/contracts/cli-a.md §5. */
export const CliAError = z.object({
  name: z.string(),
  data: z
    .object({
      message: z.string().catch(""),
      statusCode: z.number().optional().catch(undefined),
      responseBody: z.string().optional().catch(undefined),
      responseHeaders: ResponseHeaders,
      /** Names a line of the log that has the cause. Source: cli-a/1.18.33/unknown-model. */
      ref: z.string().optional().catch(undefined),
      /** Of a connection that failed. */
      metadata: z
        .object({ code: z.string().optional().catch(undefined) })
        .optional()
        .catch(undefined),
    })
    .catch({ message: "" }),
});
export type CliAError = z.infer<typeof CliAError>;

const envelope = { sessionID: z.string(), timestamp: z.number().optional().catch(undefined) };

/** Type of the line that turnd puts before records which the CLI has stored and not printed. */
export const RECOVERED = "turnd.recovered";

/** One line of CLI A's stdout. Loose: only the fields we read. Source: docs/contracts/cli-a.md §1. */
export const CliARecord = z.discriminatedUnion("type", [
  z.object({ ...envelope, type: z.literal("step_start"), part: z.object(part) }),
  z.object({
    ...envelope,
    type: z.literal("text"),
    part: z.object({ ...text, synthetic: z.boolean().optional(), ignored: z.boolean().optional() }),
  }),
  z.object({ ...envelope, type: z.literal("reasoning"), part: z.object(text) }),
  z.object({ ...envelope, type: z.literal("tool_use"), part: CliATool }),
  z.object({
    ...envelope,
    type: z.literal("step_finish"),
    part: z.object({ ...part, reason: z.string(), cost, tokens: CliATokens.optional().catch(undefined) }),
  }),
  z.object({ ...envelope, type: z.literal("error"), error: CliAError }),
  z.object({ ...envelope, type: z.literal(RECOVERED), records: count }),
]);
export type CliARecord = z.infer<typeof CliARecord>;

/** A line, read; `value` is all of it. Of a record that is not known: what it calls itself, and whose session's it says it is. */
export type ReadLine =
  | { readonly kind: "blank" }
  | { readonly kind: "record"; readonly record: CliARecord; readonly value: unknown }
  | {
      readonly kind: "unknown";
      readonly reason: "not_json" | "unknown_type" | "bad_shape";
      readonly type?: string;
      readonly sessionID?: string;
      readonly value?: unknown;
    };

const TYPES = new Set<string>(CliARecord.options.map((option) => option.shape.type.value));
const optionalText = z.string().optional().catch(undefined);
const Typed = z.object({ type: optionalText, sessionID: optionalText });

/** Reads one line of stdout; never throws. */
export function readRecord(line: string): ReadLine {
  const read = readJsonLine(line);
  if (read.kind === "blank") return read;
  if (read.kind === "not_json") return { kind: "unknown", reason: "not_json" };
  if (read.kind === "too_deep") return { kind: "unknown", reason: "bad_shape", value: read.value };
  const record = CliARecord.safeParse(read.value);
  if (record.success) return { kind: "record", record: record.data, value: read.value };
  const typed = Typed.safeParse(read.value);
  if (!typed.success) return { kind: "unknown", reason: "bad_shape", value: read.value };
  const { type, sessionID } = typed.data;
  return {
    kind: "unknown",
    reason: type === undefined || TYPES.has(type) ? "bad_shape" : "unknown_type",
    ...defined({ type, sessionID }),
    value: read.value,
  };
}
