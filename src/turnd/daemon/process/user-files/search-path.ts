import { lstat, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative } from "node:path";
import type { RunAs } from "../run-as.ts";

/** The user whose reach is asked about. */
type User = Pick<RunAs, "uid" | "gid" | "isSelf">;

const MODE = { group: 0o020, others: 0o002, sticky: 0o1000 } as const;
/** What a system searches that is told nothing. An empty search path would mean the working directory. */
const DEFAULT = "/usr/local/bin:/usr/bin:/bin";

export interface SearchPath {
  readonly path: string;
  /** Entries that were left out, as they were given; of those that are not there nothing is to be said. */
  readonly dropped: readonly string[];
}

/**
 * Takes out of a search path where the CLIs' user can put or exchange a program.
 *
 * CLIs look for `git`, `rg` and the like in all of it, in a plan too, and `npm` puts `node_modules/.bin` of every directory
 * above there, whether it exists or not. Entries come without links, since a link on the way may be that user's. Where that
 * user is turnd's own nothing is kept from it: what does not exist is dropped, and what depends on the working directory.
 */
export async function protectSearchPath(given: string | undefined, runAs: User): Promise<SearchPath> {
  const kept: string[] = [];
  const dropped: string[] = [];
  for (const entry of (given ?? DEFAULT).split(":")) {
    const existing = isAbsolute(entry) ? await findExisting(entry) : undefined;
    const isProtected = existing !== undefined && (await isOutOfReach(existing, runAs));
    if (isProtected) kept.push(join(existing.resolved, existing.rest));
    else if (existing?.rest !== undefined && existing.rest !== "") continue;
    else dropped.push(entry);
  }
  return { path: kept.length === 0 ? DEFAULT : [...new Set(kept)].join(":"), dropped };
}

/** Whether that user could put no program there. */
async function isOutOfReach({ resolved, rest }: Existing, runAs: User): Promise<boolean> {
  if (runAs.isSelf) return rest === "";
  for (let directory = resolved; ; directory = dirname(directory)) {
    const found = await lstat(directory).catch(() => undefined);
    if (found === undefined || found.uid === runAs.uid) return false;
    const { group, others, sticky } = MODE;
    const isWritable = (found.mode & others) !== 0 || (found.gid === runAs.gid && (found.mode & group) !== 0);
    // In a sticky directory that user can make files, but exchange no directory of another one.
    const canExchange = directory === resolved || (found.mode & sticky) === 0;
    if (isWritable && canExchange) return false;
    if (dirname(directory) === directory) return true;
  }
}

/** The part of a path that is there, without links, and the rest. */
interface Existing {
  readonly resolved: string;
  readonly rest: string;
}

async function findExisting(entry: string): Promise<Existing> {
  for (let directory = join(entry); ; directory = dirname(directory)) {
    const resolved = await realpath(directory).catch(() => undefined);
    if (resolved !== undefined) return { resolved, rest: relative(directory, join(entry)) };
    if (dirname(directory) === directory) return { resolved: directory, rest: relative(directory, join(entry)) };
  }
}
