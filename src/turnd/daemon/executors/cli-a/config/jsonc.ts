import { parse, type ParseError } from "jsonc-parser";

/** What came of reading JSON with comments; a fault says where, and never quotes what stands there. */
export type ReadJsonc = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly where: string };

/**
 * Reads JSON that may have comments and trailing commas, as CLI A reads its configuration: with the same parser.
 *
 * Never throws. Only the place of a fault is taken from the parser: the text holds keys.
 * @see docs/contracts/cli-a.md §4
 */
export function readJsonc(text: string): ReadJsonc {
  const errors: ParseError[] = [];
  try {
    const value: unknown = parse(text, errors, { allowTrailingComma: true });
    const [first] = errors;
    return first === undefined ? { ok: true, value } : { ok: false, where: describePlace(text, first.offset) };
  } catch (error) {
    // The parser goes one call deeper with each level, and no configuration has thousands.
    if (!(error instanceof RangeError)) throw error;
    return { ok: false, where: " (nested too deeply)" };
  }
}

function describePlace(text: string, offset: number): string {
  const before = text.slice(0, offset).split("\n");
  return ` (line ${before.length}, column ${(before.at(-1) ?? "").length + 1})`;
}
