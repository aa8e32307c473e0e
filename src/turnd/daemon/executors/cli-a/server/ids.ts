/** Where an id's counter begins within a millisecond: the CLI's own begins at 1. */
const PER_MS = 4_096n;
const RANDOM_CHARACTERS = 14;
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * An id as the CLI makes them: the time, which is its order, and what distinguishes it. Given by turnd, so that the same request
 * twice is one. Source: docs/contracts/cli-a-server.md §4.1. Law: at most once.
 *
 * @param nowMs - milliseconds since 1970
 * @param seed - the same text gives the same id
 */
export function makeId(prefix: "msg" | "prt", nowMs: number, seed: string): string {
  const time = BigInt.asUintN(48, BigInt(nowMs) * PER_MS)
    .toString(16)
    .padStart(12, "0");
  const own = seed.replaceAll(/[^0-9A-Za-z]/g, "").slice(-RANDOM_CHARACTERS);
  return `${prefix}_${time}${own.padStart(RANDOM_CHARACTERS, DIGITS)}`;
}
