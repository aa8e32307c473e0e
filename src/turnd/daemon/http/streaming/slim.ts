import { SlimEvent, type Truncated } from "../../../protocol/index.ts";
import type { LoggedLine } from "../../turns/turn-service.ts";
import { frameOverhead } from "./sse.ts";

/** Largest frame of a slim stream. Source: docs/design.md §5. */
const MAX_FRAME_BYTES = 65_536;

/**
 * How much of one value is kept: bytes of a string, entries of a list or object. Tried in order until the frame fits.
 */
const LIMITS = [
  { bytes: 16_384, entries: 500 },
  { bytes: 4_096, entries: 100 },
  { bytes: 512, entries: 20 },
] as const;
type Limit = (typeof LIMITS)[number];

/** Deeper values are left out: only a tool's own input nests without limit. */
const MAX_DEPTH = 12;
/** The last resort keeps fields of the data that are smaller than this, and cuts the other strings to it. */
const LAST_BYTES = 1_024;
const MAX_FIELDS = 20;
const MAX_PATH_LENGTH = 200;

/** Re-encodes a line without `native` and with its long fields cut, so that its frame stays within 64 KiB. */
export function slimLine(line: LoggedLine): LoggedLine {
  const event = SlimEvent.parse(JSON.parse(line.bytes.toString("utf8")));
  const room = MAX_FRAME_BYTES - frameOverhead(line);
  for (const limit of LIMITS) {
    const bytes = encode(event, (truncated) => cutObject(event.data, limit, "data", 0, truncated));
    if (bytes.length <= room) return { ...line, bytes };
  }
  return { ...line, bytes: encode(event, (truncated) => keepSmall(event.data, truncated)) };
}

function encode(event: SlimEvent, cut: (truncated: Truncated[]) => Record<string, unknown>): Buffer {
  const truncated: Truncated[] = [];
  const data = cut(truncated);
  const { native: _native, ...rest } = event;
  const named = truncated.slice(0, MAX_FIELDS);
  return Buffer.from(JSON.stringify({ ...rest, data, ...(named.length > 0 ? { truncated: named } : {}) }));
}

function cutValue(value: unknown, limit: Limit, field: string, depth: number, truncated: Truncated[]): unknown {
  if (typeof value === "string") return cutText(value, limit.bytes, field, truncated);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) {
    truncated.push(cutMark(field, value));
    return null;
  }
  if (!Array.isArray(value)) return cutObject(value, limit, field, depth, truncated);
  if (value.length > limit.entries) truncated.push(cutMark(field, value));
  return value
    .slice(0, limit.entries)
    .map((entry, index) => cutValue(entry, limit, `${field}.${index}`, depth + 1, truncated));
}

function cutObject(
  value: object,
  limit: Limit,
  field: string,
  depth: number,
  truncated: Truncated[],
): Record<string, unknown> {
  const entries = Object.entries(value);
  if (entries.length > limit.entries) truncated.push(cutMark(field, value));
  return Object.fromEntries(
    entries
      .slice(0, limit.entries)
      .map(([key, entry]) => [key, cutValue(entry, limit, `${field}.${key}`, depth + 1, truncated)]),
  );
}

function cutText(text: string, limitBytes: number, field: string, truncated: Truncated[]): string {
  // A character takes at least one byte, and at most three for each of its UTF-16 units.
  if (text.length * 3 <= limitBytes) return text;
  const bytes = Buffer.byteLength(text);
  if (bytes <= limitBytes) return text;
  truncated.push({ field: field.slice(0, MAX_PATH_LENGTH), bytes });
  // `encodeInto` stops before a character that does not fit completely.
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(limitBytes)).read);
}

/** Limited whatever the data: a few fields, each of them small. */
function keepSmall(data: Record<string, unknown>, truncated: Truncated[]): Record<string, unknown> {
  const kept: [string, unknown][] = [];
  for (const [key, value] of Object.entries(data).slice(0, MAX_FIELDS)) {
    if (Buffer.byteLength(JSON.stringify(value)) <= LAST_BYTES) {
      kept.push([key, value]);
    } else if (typeof value === "string") {
      kept.push([key, cutText(value, LAST_BYTES / 8, `data.${key}`, truncated)]);
    } else {
      truncated.push(cutMark(`data.${key}`, value));
    }
  }
  return Object.fromEntries(kept);
}

function cutMark(field: string, value: unknown): Truncated {
  return { field: field.slice(0, MAX_PATH_LENGTH), bytes: Buffer.byteLength(JSON.stringify(value)) };
}
