/** What stands where a secret stood. */
const MASK = "[redacted]";

/** Shorter values would mask ordinary words. */
const MIN_SECRET_CHARACTERS = 6;

/**
 * Makes a function that takes secrets out of a line of text or JSON; line numbers stay as they are.
 *
 * A value is found plain and as JSON escapes it, nested once more too, as a tool's output quotes it.
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
    longestFirst.reduce((text, form) => (text.includes(form) ? text.replaceAll(form, MASK) : text), line);
}
