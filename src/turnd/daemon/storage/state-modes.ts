import { chmodSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** A file or directory of turnd's whose mode gives others more than it should. */
export interface OpenEntry {
  readonly path: string;
  readonly mode: number;
  readonly allowed: number;
}

/** The CLIs' user passes through the state to its homes, and lists nothing in it. */
const STATE_MODE = 0o711;
/**
 * What turnd has in its state beside `sessions`, whose rooms see to it, and beside what the CLIs' user reads: `git` and `clis`.
 */
const OWN = /^(index\.db(-.*)?|lock|reserve(\..*)?|scripted-model-port.*|shells|starter|tombstones\.jsonl.*)$/;

/**
 * Lists what other users could read or change in a state directory, itself and what turnd has in it. A directory stands for
 * what is in it.
 */
export function listOpen(stateDirectory: string): OpenEntry[] {
  const own = readdirSync(stateDirectory).filter((name) => OWN.test(name));
  const entries = [
    { path: stateDirectory, allowed: STATE_MODE },
    ...own.map((name) => ({ path: join(stateDirectory, name), allowed: 0o700 })),
  ];
  return entries.flatMap(({ path, allowed }) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    // What is a link, or another user's, is refused by what uses it.
    if (found === undefined || found.isSymbolicLink() || found.uid !== process.getuid?.()) return [];
    return (found.mode & ~allowed & 0o777) === 0 ? [] : [{ path, mode: found.mode & 0o777, allowed }];
  });
}

/**
 * Closes what an earlier version, a volume or a wide umask left open to other users. No other user can write to the state.
 *
 * @returns what was open
 */
export function closeState(stateDirectory: string): string[] {
  return listOpen(stateDirectory).map(({ path, mode, allowed }) => {
    chmodSync(path, mode & allowed);
    return path;
  });
}
