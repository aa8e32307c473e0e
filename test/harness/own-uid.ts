import { readFileSync } from "node:fs";

/** Above what any machine gives to people and services. */
const FIRST = 1_900_000_000;

/**
 * The number of a user that no other process of this machine is: a limit of processes counts only this test's, and ending all
 * that user has ends nothing else, also where two runs of the tests go on side by side.
 */
export function ownUid(): number {
  const [first = 0, , count = 0] = readFileSync("/proc/self/uid_map", "utf8").trim().split(/\s+/).map(Number);
  // Where this machine is a container with a few users of its own, no other tests see them.
  return first === 0 && count > FIRST + process.pid ? FIRST + process.pid : 54_321;
}
