/** What stands where a secret stood. */
const MASK = "[redacted]";

/** Shorter values would mask ordinary words. */
const MIN_SECRET_CHARACTERS = 6;

/** Text that was cut to a bounded length ends in this; what stands before it may be the beginning of a secret. */
const CUT = "…";

/**
 * Makes a function that takes secrets out of a line of text or JSON; line numbers stay as they are.
 *
 * A value is found plain and as JSON escapes it, nested once more too, as a tool's output quotes it; and where a cut has
 * left its beginning alone.
 * @param secrets - values that must not leave the daemon; empty and very short ones are passed over
 */
export function createRedactor(secrets: Iterable<string>): (line: string) => string {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < MIN_SECRET_CHARACTERS) continue;
    const escaped = JSON.stringify(secret).slice(1, -1);
    forms.add(secret).add(escaped).add(JSON.stringify(escaped).slice(1, -1));
  }
  // Longest first: one secret may be part of another.
  const longestFirst = [...forms].toSorted((a, b) => b.length - a.length);
  return (line) =>
    maskCut(
      longestFirst.reduce((text, form) => (text.includes(form) ? text.replaceAll(form, MASK) : text), line),
      longestFirst,
    );
}

function maskCut(text: string, secrets: readonly string[]): string {
  if (!text.includes(CUT)) return text;
  const forms = secrets.filter((form) => text.includes(form.slice(0, MIN_SECRET_CHARACTERS)));
  if (forms.length === 0) return text;
  let masked = "";
  let from = 0;
  for (let cut = text.indexOf(CUT); cut !== -1; cut = text.indexOf(CUT, cut + 1)) {
    const start = cut - Math.max(...forms.map((form) => headBefore(text, cut, form)));
    if (start === cut || start < from) continue;
    masked += text.slice(from, start) + MASK;
    from = cut;
  }
  return from === 0 ? text : masked + text.slice(from);
}

/** How much of a secret's beginning stands right before a place. */
function headBefore(text: string, end: number, form: string): number {
  for (let length = Math.min(form.length - 1, end); length >= MIN_SECRET_CHARACTERS; length -= 1) {
    if (text.startsWith(form.slice(0, length), end - length)) return length;
  }
  return 0;
}
