import { constants } from "node:fs";
import { chmod, lstat, mkdir, open, readdir, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { getSystemErrorMessage } from "node:util";

/** Something in the data directory that another user could write. */
export class DataDirectoryExposed extends Error {
  constructor(message: string) {
    super(message);
    this.name = "DataDirectoryExposed";
  }
}

/** A directory of the service's cannot be made, or not written. */
export class DataDirectoryUnusable extends Error {
  constructor(directory: string, reason: string) {
    super(`${directory} cannot be used: ${reason}; SERVICE_DATA_DIR names another`);
    this.name = "DataDirectoryUnusable";
  }
}

/** What others could reach, and no longer can. */
export interface ClosedDirectory {
  readonly path: string;
  /** How many files and directories in it were open. */
  readonly entries: number;
}

/** The CLIs' user passes through the data directory to its workspaces, and lists nothing in it. */
const PASSABLE = 0o711;
/** What is the CLIs' user's, or leads to it; turnd closes what is its own. */
const PASSED = ["turnd", "workspaces"];
const SHARED = new Set(["home", ...PASSED]);
/** What the service and `npm run service` write into it, and copies that have a name after it. */
const OWN =
  /^(admin-password.*|lock|npm-run-service\.lock|objects.*|parsing-.*|pglite.*|scripted-model-port.*|secrets\.json.*|turnd\.json.*|turnd\.log.*)$/;

/**
 * Makes the data directory where it is missing, and keeps others from listing it and from all that the service has in it,
 * also where an earlier version or a volume left it open.
 *
 * @returns what was open until now
 * @throws {DataDirectoryExposed} where another user owns it or what is in it, or where all users share it
 */
export async function protectDataDirectory(directory: string): Promise<ClosedDirectory[]> {
  await makePassable(directory);
  await restrict(directory);
  for (const path of PASSED.map((name) => join(directory, name))) {
    await assertOurs(path);
    await narrow(path);
  }
  const closed: ClosedDirectory[] = [];
  for (const name of await readdir(directory)) {
    if (!OWN.test(name)) continue;
    const path = join(directory, name);
    const entries = await closeToOthers(path, { isDeep: name.startsWith("pglite") });
    if (entries > 0) closed.push({ path, entries });
  }
  return closed;
}

/** What in the data directory others can reach, the service's own and anything else; changes nothing. */
export async function findExposed(directory: string): Promise<string[]> {
  const { uid, mode } = await stat(directory);
  const isWide = uid === process.getuid?.() && (mode & ~PASSABLE & 0o777) !== 0;
  const exposed = isWide ? [directory] : [];
  for (const name of await readdir(directory)) {
    if (SHARED.has(name)) continue;
    const path = join(directory, name);
    const found = await lstat(path).catch(ifMissing);
    if (found === undefined || found.isSymbolicLink()) continue;
    if ((found.mode & 0o077) !== 0) exposed.push(path);
  }
  return exposed;
}

/**
 * Takes from all other users what they may do with a file or a directory.
 *
 * A directory itself comes first: nothing in it can be reached from then on.
 * @param isDeep - with all that is in it, which a process that has entered it, or a second name of a file, still reaches
 * @returns how many others could reach: PGlite leaves files of a wide mode in its closed directory
 * @throws {DataDirectoryExposed} where another user owns one
 */
export async function closeToOthers(path: string, { isDeep }: { readonly isDeep: boolean }): Promise<number> {
  await assertOurs(path);
  const real = await realpath(path).catch(ifMissing);
  return real === undefined ? 0 : closeEntry(real, isDeep, true);
}

async function closeEntry(path: string, isDeep: boolean, isReachable: boolean): Promise<number> {
  const found = await lstat(path).catch(ifMissing);
  // A link has no mode, and leads nowhere that this does not come to by itself.
  if (found === undefined || found.isSymbolicLink()) return 0;
  assertOwner(path, found);
  const self = process.getuid?.();
  let count = 0;
  // A volume's top may be root's where the service is not: root decides who enters it.
  const isOpen = (found.mode & 0o077) !== 0;
  if (isOpen && found.uid === self) {
    await setMode(path, found.mode & 0o700);
    // A second name may be anywhere.
    if (isReachable || (!found.isDirectory() && found.nlink > 1)) count += 1;
  }
  if (!isDeep || !found.isDirectory()) return count;
  for (const name of await readdir(path)) count += await closeEntry(join(path, name), true, isReachable && isOpen);
  return count;
}

/** Of a link the link itself: who has put it there decides where it leads, and what we would close there. */
async function assertOurs(path: string): Promise<void> {
  const found = await lstat(path).catch(ifMissing);
  if (found !== undefined) assertOwner(path, found);
}

/** @throws {DataDirectoryExposed} where it belongs to neither this user nor root */
function assertOwner(path: string, { uid }: { readonly uid: number }): void {
  const self = process.getuid?.();
  if (uid === self || uid === 0) return;
  throw new DataDirectoryExposed(
    `${path} belongs to uid ${uid}, who could change it: chown -hR ${self} ${path}, or take it away`,
  );
}

/** Through no link. @throws {DataDirectoryExposed} where the file system keeps no modes */
async function setMode(path: string, mode: number): Promise<void> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    await file.chmod(mode);
    if (((await file.stat()).mode & 0o077) === 0) return;
    throw new DataDirectoryExposed(
      `${path} stays open to others: its file system keeps no modes, name another directory`,
    );
  } finally {
    await file.close();
  }
}

/** Each directory that is made can be passed through, whatever the umask. */
export async function makePassable(directory: string): Promise<void> {
  try {
    await make(directory);
  } catch (error) {
    throw asUnusable(directory, error);
  }
}

/** What the system has refused, with the variable that names the directory; any other error as it is. */
export function asUnusable(directory: string, error: unknown): unknown {
  if (!(error instanceof Error && "errno" in error && typeof error.errno === "number" && "code" in error)) return error;
  return new DataDirectoryUnusable(directory, `${getSystemErrorMessage(error.errno)} (${String(error.code)})`);
}

async function make(directory: string): Promise<void> {
  try {
    await mkdir(directory);
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error)) throw error;
    if (error.code === "EEXIST") {
      if (!(await stat(directory)).isDirectory()) throw new DataDirectoryUnusable(directory, "it is a file");
      return;
    }
    if (error.code !== "ENOENT" || dirname(directory) === directory) throw error;
    await make(dirname(directory));
    await mkdir(directory);
  }
  await chmod(directory, PASSABLE);
}

/**
 * Keeps others from listing the directory and from writing into it. A volume may be wider, and may be root's where the service is
 * not: then root decides.
 *
 * @throws {DataDirectoryExposed} where another user owns it, or where all users share it
 */
export async function restrict(directory: string): Promise<void> {
  const { mode } = await stat(directory);
  if ((mode & 0o1002) === 0o1002) {
    throw new DataDirectoryExposed(`${directory} is a directory that all users share: name one in it`);
  }
  await narrow(directory);
}

/**
 * Keeps others from listing a directory of this user's own.
 *
 * @throws {DataDirectoryExposed} where another user owns it: what root makes and gives away there, that user could exchange
 */
async function narrow(directory: string): Promise<void> {
  const found = await stat(directory).catch(ifMissing);
  if (found === undefined) return;
  assertOwner(directory, found);
  if (found.uid !== process.getuid?.()) return;
  if ((found.mode & ~PASSABLE & 0o777) === 0) return;
  try {
    await chmod(directory, found.mode & PASSABLE);
  } catch (error) {
    throw asUnusable(directory, error);
  }
}

function ifMissing(error: unknown): undefined {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
  throw error;
}
