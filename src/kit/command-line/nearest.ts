import { distance } from "fastest-levenshtein";

/** How much of a name may be wrong. */
const MOST_WRONG = 0.5;

/** The name that is most likely meant; undefined where none is near. */
export function nearest(given: string, names: readonly string[]): string | undefined {
  const [best] = names
    .map((name) => ({ name, wrong: distance(given.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, wrong }) => wrong <= Math.max(given.length, name.length) * MOST_WRONG)
    .toSorted((one, other) => one.wrong - other.wrong);
  return best?.name;
}
