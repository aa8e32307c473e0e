import { SettingsSchema } from "./settings.ts";

const NAMES = Object.keys(SettingsSchema.shape);
/** Beyond so many changed letters a name is another name, no mistyped one. */
const MOST_CHANGES = 5;

/**
 * A warning for each variable that looks like one of the service's and is none; values are never shown. Law: secrets
 * are derived, hashed or outside.
 */
export function describeUnknownSettings(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith("SERVICE_") && !NAMES.includes(name))
    .toSorted()
    .map((name) => {
      const nearest = NAMES.map((known) => ({ known, changes: countChanges(name, known) })).toSorted(
        (left, right) => left.changes - right.changes,
      )[0];
      const isNear = nearest !== undefined && nearest.changes <= MOST_CHANGES;
      return `${name} is no setting of the service and is ignored${isNear ? `; did you mean ${nearest.known}?` : ""}`;
    });
}

/** How many letters have to be inserted, deleted or replaced (Levenshtein). */
function countChanges(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
