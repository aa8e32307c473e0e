import type { Redact } from "./redact.ts";

/**
 * Takes secrets out of a JSON text: only out of its strings and keys, so that it stays JSON, with the same numbers.
 *
 * All but the strings that hold a secret is the same, byte for byte, however deep it is nested.
 */
export function redactJson(json: string, redact: Redact): string {
  if (!mayHold(json, redact)) return json;
  const seen = new Map<string, number>();
  let redacted = "";
  let from = 0;
  for (let open = json.indexOf('"'); open !== -1; open = json.indexOf('"', from)) {
    const end = endOfString(json, open);
    const token = json.slice(open, end);
    redacted += json.slice(from, open) + redactToken(token, isKey(json, end) ? seen : undefined, redact);
    from = end;
  }
  return redacted + json.slice(from);
}

/** Takes secrets out of a line of output: as JSON where it is that, otherwise as text. */
export function redactLine(line: string, redact: Redact): string {
  return mayHold(line, redact) && isJson(line) ? redactJson(line, redact) : redact(line);
}

/** Whether a secret stands there as it is written, or would once each `\u00e4` is written as the character it stands for. */
function mayHold(json: string, redact: Redact): boolean {
  if (redact(json) !== json) return true;
  if (!json.includes("\\u")) return false;
  const plain = json.replaceAll(/(?:\\u[\da-f]{4})+/gi, (units) =>
    JSON.stringify(JSON.parse(`"${units}"`)).slice(1, -1),
  );
  return redact(plain) !== plain;
}

function isJson(line: string): boolean {
  if (!/^\s*[[{"]/.test(line)) return false;
  try {
    JSON.parse(line);
    return true;
  } catch {
    // Then it is text.
    return false;
  }
}

function redactToken(token: string, keys: Map<string, number> | undefined, redact: Redact): string {
  if (!mayHold(token, redact)) return token;
  const text = String(JSON.parse(token));
  const masked = redact(text);
  if (masked === text) return token;
  if (keys === undefined) return JSON.stringify(masked);
  // Two keys that were secrets must not become one.
  const count = (keys.get(masked) ?? 0) + 1;
  keys.set(masked, count);
  return JSON.stringify(count === 1 ? masked : `${masked} ${count}`);
}

/** Right behind the closing quote of the string that opens there. */
function endOfString(json: string, open: number): number {
  for (let at = json.indexOf('"', open + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (json[at - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return at + 1;
  }
  return json.length;
}

function isKey(json: string, end: number): boolean {
  return /^\s*:/.test(json.slice(end, end + 64));
}
