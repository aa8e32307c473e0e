/** What came of reading JSON with comments; a fault says where, and never quotes what stands there. */
export type ReadJsonc = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly where: string };

/**
 * Reads JSON that may have comments and trailing commas, as CLI A reads its configuration.
 *
 * @see docs/contracts/cli-a.md §4
 */
export function readJsonc(text: string): ReadJsonc {
  try {
    return { ok: true, value: JSON.parse(toJson(text)) };
  } catch (error) {
    // The engine's message quotes the text, which holds keys: only the place is taken from it.
    const place = error instanceof Error ? /line (\d+) column (\d+)/.exec(error.message) : null;
    return { ok: false, where: place === null ? "" : ` (line ${place[1]}, column ${place[2]})` };
  }
}

const TOKEN = /"(?:[^"\\]|\\.)*"?|\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)|,(?=(?:\s|\/\/[^\n]*(?:\n|$)|\/\*[^]*?\*\/)*[}\]])/g;

/** Blanks out comments and trailing commas, so that places stay where they are. */
function toJson(text: string): string {
  return text.replace(TOKEN, (token) => (token.startsWith('"') ? token : token.replace(/[^\n]/g, " ")));
}
