/** Longer ones are not indented: what is nested thousands deep would be millions of blanks. */
const MOST_CHARACTERS = 16_000_000;
/** Shorter JSON than this is never indented to so much. */
const SURELY_SHORT = 5_600;

/**
 * A value as JSON with its fields on lines of their own, or on one line where it is nested too deeply for that.
 */
export function toJsonText(value: unknown): string {
  return indent(value) ?? "nested too deeply to be shown";
}

/** The same on one line; undefined where there is none. */
export function toFlatJson(value: unknown): string | undefined {
  return withinStack(() => JSON.stringify(value));
}

function indent(value: unknown): string | undefined {
  return withinStack(() => {
    const flat = JSON.stringify(value) ?? "undefined";
    const isShort = flat.length < SURELY_SHORT || flat.length * depthOf(flat) < MOST_CHARACTERS;
    return isShort ? (JSON.stringify(value, null, 2) ?? flat) : flat;
  });
}

/** @returns undefined where a value is nested deeper than the browser's stack reaches: the page must not end by that */
function withinStack(write: () => string | undefined): string | undefined {
  try {
    return write();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** JSON with its fields on lines of their own; anything else as it is. */
export function pretty(text: string): string {
  try {
    return indent(JSON.parse(text)) ?? text;
  } catch {
    return text;
  }
}

/** How deep JSON is nested, or more where brackets stand in its texts. */
function depthOf(json: string): number {
  let [depth, deepest] = [0, 0];
  for (let index = 0; index < json.length; index += 1) {
    const character = json[index];
    if (character === "[" || character === "{") deepest = Math.max(deepest, (depth += 1));
    else if (character === "]" || character === "}") depth -= 1;
  }
  return deepest;
}
