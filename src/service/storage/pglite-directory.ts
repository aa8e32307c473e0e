import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { PGlite, type PGliteOptions } from "@electric-sql/pglite";
import { closeToOthers } from "./data-directory.ts";

/** How PGlite is opened, in memory or in a directory. */
type Options = Omit<PGliteOptions, "dataDir" | "loadDataDir">;

/** Beyond this it only ever means a fault: the log of ten minutes of writes is read again in seconds. */
const OPEN_MS = 300_000;

/** PGlite cannot use what stands in its directory, or did not come up in time. */
export class PgliteUnusable extends Error {
  constructor(directory: string, why: string, cause?: unknown) {
    super(`PGlite in ${directory} ${why}`, cause === undefined ? undefined : { cause });
    this.name = "PgliteUnusable";
  }
}

/**
 * Opens PGlite in a directory, and makes the database first where there is none.
 *
 * It is made under another name and gets its own when it is whole: PGlite takes a directory for a database as soon as the first of
 * its files is there, and a start that is killed meanwhile would leave one that no start can use.
 *
 * No other user reaches a file of it, whatever mode PGlite gives it: the directory is closed before PGlite writes the first, and
 * at every open, with what an earlier version left open.
 * @param seed - a dumped data directory to begin with, in place of an empty database
 * @throws {PgliteUnusable}
 * @throws {DataDirectoryExposed} where another user owns a file of it
 */
export async function openPgliteDirectory(directory: string, options: Options, seed?: Blob): Promise<PGlite> {
  const found = await readdir(directory).catch(ifMissing);
  if (found.length > 0 && !found.includes("PG_VERSION")) {
    throw new PgliteUnusable(
      directory,
      "has files and no database (no PG_VERSION): remove the directory where there was none, or restore it from a backup",
    );
  }
  if (found.length === 0) await make(directory, options, seed);
  await closeToOthers(directory, { isDeep: true });
  return withinLimit(directory, PGlite.create({ ...options, dataDir: directory }));
}

async function make(directory: string, options: Options, seed: Blob | undefined): Promise<void> {
  const unfinished = `${directory}.new`;
  // Left by a start that was killed.
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  const begun = seed === undefined ? { dataDir: unfinished } : { dataDir: unfinished, loadDataDir: seed };
  const made = await withinLimit(directory, PGlite.create({ ...options, ...begun }));
  await made.close();
  // It gives files mode 0666, whatever the umask; they lie in a directory that no other user enters.
  await closeToOthers(unfinished, { isDeep: true });
  await rename(unfinished, directory);
}

async function withinLimit(directory: string, opening: Promise<PGlite>): Promise<PGlite> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new PgliteUnusable(directory, `did not open within ${OPEN_MS / 1_000} s`)),
    OPEN_MS,
  );
  try {
    return await Promise.race([opening, late.promise]);
  } catch (error) {
    if (error instanceof PgliteUnusable) throw error;
    throw new PgliteUnusable(directory, `cannot be opened: ${String(error)}`, error);
  } finally {
    clearTimeout(timer);
  }
}

function ifMissing(error: unknown): string[] {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
  throw error;
}
