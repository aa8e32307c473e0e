import { redactJson } from "./redact-json.ts";
import type { Redact } from "./redact.ts";

/**
 * Fields of our own with our own words, ids and digests in them: a configured value may be the same word (a placeholder
 * such as `message` for a key), and a client would not know a status or an id any more.
 */
const OWN_WORDS = new Set(
  (
    "type status code kind source on verdict outcome user_action cancelled_by ended_by change mode executor api signal digest modes " +
    "turn_id session_id request_id rule seen_in at created_at started_at"
  ).split(" "),
);
/** A field that holds our own words in one kind of event, and what others said in the rest. */
const OWN_REASONS: ReadonlySet<unknown> = new Set(["not_json", "unknown_type", "bad_shape"]);
/** Fields that hold what others made, keys and all. */
const FOREIGN = new Set(["input", "metadata"]);

/**
 * Renders a value of our own as JSON, secrets taken out of its strings, and of the keys of what others made.
 *
 * Numbers stay numbers, and the shape stays what its schema says.
 */
export function stringifyRedacted(value: unknown, redact: Redact, indent?: number): string {
  const json = JSON.stringify(value, null, indent);
  return redact(json) === json ? json : JSON.stringify(redactValue(JSON.parse(json), redact), null, indent);
}

/** @param value - as JSON has it */
function redactValue(value: unknown, redact: Redact): unknown {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map((entry) => redactValue(entry, redact));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]: [string, unknown]) => [key, redactField(key, inner, redact)]),
  );
}

function redactField(key: string, value: unknown, redact: Redact): unknown {
  if (OWN_WORDS.has(key) || (key === "reason" && OWN_REASONS.has(value))) return value;
  if (!FOREIGN.has(key) || typeof value !== "object" || value === null) return redactValue(value, redact);
  const redacted: unknown = JSON.parse(redactJson(JSON.stringify(value), redact));
  return redacted;
}
