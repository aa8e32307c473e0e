/** A line of a CLI that prints JSON lines, before anything is known of its shape. */
export type JsonLine =
  | { readonly kind: "blank" }
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "not_json" };

// eslint-disable-next-line no-control-regex -- escape sequences are what is looked for
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\^_])/g;

/** Reads one line of stdout, terminal escapes taken out; never throws. */
export function readJsonLine(text: string): JsonLine {
  const plain = stripEscapes(text);
  if (plain.trim() === "") return { kind: "blank" };
  try {
    return { kind: "value", value: JSON.parse(plain) };
  } catch {
    // Not JSON is an answer, not an error: the line is kept.
    return { kind: "not_json" };
  }
}

/** Removes terminal escape sequences; JSON cannot hold a raw escape byte, so no record changes. */
export function stripEscapes(text: string): string {
  return text.includes("\u001b") ? text.replace(ESCAPES, "") : text;
}
