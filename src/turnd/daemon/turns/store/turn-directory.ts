import type { Dirent } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { readRegular } from "../../storage/read-regular.ts";

/** What is in a turn's directory is not what turnd and its keeper leave there. */
export class DamagedTurnError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "DamagedTurnError";
  }
}

/** The one directory in a turn's: `turns/recover` works there. */
const DIRECTORIES = new Set(["recovery"]);
/** What no admission that broke off leaves: it shows that the turn has run. */
const AFTER_ADMISSION =
  /^(started|exit\.json|exit\.json\.new|span\.json|result\.json|input\.txt|reserve|recovery|resume\..*)$/;
/** What an admission leaves, and the room for the last event, which each run takes first. */
const BEFORE_START = /^(turn\.json|prompt\.txt|image-\d+\.\w+|events\.jsonl|request\..*|reserve)$/;
/** What only a process that was started leaves. */
const OF_A_PROCESS = ["exit.json", "exit.json.new"] as const;

/**
 * Looks at the entries of a turn's directory, before any of them is opened.
 *
 * @returns their names
 * @throws {DamagedTurnError} if one of them is a link, a pipe, or a directory where a file should be
 */
export async function listTurnFiles(directory: string): Promise<Set<string>> {
  // A link to a directory would be listed too.
  if (!(await lstat(directory)).isDirectory()) throw new DamagedTurnError("it is no directory");
  const entries = await readdir(directory, { withFileTypes: true });
  const strange = entries.find((entry) => !(DIRECTORIES.has(entry.name) ? entry.isDirectory() : entry.isFile()));
  if (strange !== undefined) throw new DamagedTurnError(`its ${strange.name} is ${describeKind(strange)}`);
  return new Set(entries.map(({ name }) => name));
}

/** Whether an earlier daemon has left anything of a turn's start in its directory: one look, in place of one for each file. */
export async function hasTracesOfStart(directory: string): Promise<boolean> {
  return (await readdir(directory)).some((name) => !BEFORE_START.test(name));
}

function describeKind(entry: Dirent): string {
  if (entry.isDirectory()) return "a directory";
  if (entry.isSymbolicLink()) return "a link";
  return entry.isFile() ? "a file" : "no regular file";
}

/**
 * Makes sure that a directory without `turn.json` is what an admission that broke off has left.
 *
 * @throws {DamagedTurnError} if the turn was admitted and its `turn.json` is gone
 */
export async function assertNeverAdmitted(directory: string, names: ReadonlySet<string>): Promise<void> {
  const hasMore = [...names].some((name) => AFTER_ADMISSION.test(name));
  const hasEvents = names.has("events.jsonl") && (await stat(join(directory, "events.jsonl"))).size > 0;
  if (hasMore || hasEvents) throw new DamagedTurnError("its turn.json is gone");
}

/**
 * Makes sure that the turn of a CLI whose log has no end may go on, whatever is gone of its files. Law: at most once.
 *
 * @throws {DamagedTurnError} if it had ended, or had run and the file that shows it is gone
 */
export async function assertMayGoOn(directory: string, names: ReadonlySet<string>): Promise<void> {
  if (names.has("started") || names.has("span.json")) return;
  // Written after the end is on the disk.
  if (names.has("result.json")) throw new DamagedTurnError("its log has lost its end");
  const printed = names.has("stdout.jsonl") && (await stat(join(directory, "stdout.jsonl"))).size > 0;
  if (printed || OF_A_PROCESS.some((name) => names.has(name))) throw new DamagedTurnError("its started is gone");
}

/** Begins the name of an empty file in a turn's directory that ends with the request's id: no damage of a file's content takes it. */
const REQUEST = "request.";

/** The name of the file in a turn's directory that names its request only by its own name. */
export function requestFileName(requestId: string): string {
  return `${REQUEST}${requestId}`;
}

/** The request of a turn that cannot be read, from what is left of its files: two begin with the ids, one is named after it. */
export async function findRequestId(directory: string): Promise<string | undefined> {
  for (const name of ["turn.json", "result.json"]) {
    // What cannot even be opened shows nothing.
    const text = await readRegular(join(directory, name)).catch(() => "");
    const requestId = /"request_id":"([^"]+)"/.exec(text.toString())?.[1];
    if (requestId !== undefined) return requestId;
  }
  const names = await readdir(directory).catch(() => []);
  return names.find((name) => name.startsWith(REQUEST))?.slice(REQUEST.length);
}
