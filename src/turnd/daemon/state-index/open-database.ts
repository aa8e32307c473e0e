import {
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { openMemory, wrapDatabase, type Database } from "./database.ts";
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from "./schema.ts";
import { breakSeal, seal, sealPath } from "./seal.ts";
import { openSqlite } from "./sqlite.ts";

export interface OpenOptions {
  /** The file, in a directory that only turnd can change. */
  readonly path: string;
  /** The directory of the sessions: an index that came from another place is not this one's. */
  readonly sessionsDirectory: string;
  /** Called when the file cannot be used: the index is only in memory from then on. */
  readonly onFault: (error: unknown) => void;
  /** What this boot of the machine is called; from the kernel unless given. */
  readonly bootId?: string;
}

/** An open index, and why what is in it cannot be relied upon; undefined where it can. */
export interface OpenedDatabase {
  readonly database: Database;
  readonly outdated: string | undefined;
}

/** Pages of 4 KiB that are written before they are moved to their places. */
const CHECKPOINT_PAGES = 1_000;
/** Of a file of SQLite; its log begins with less. @see https://www.sqlite.org/fileformat.html */
const HEADER_BYTES = 100;
const CACHE_KIB = 1_024;

/**
 * Opens the index, or an empty one in its place where it is missing, damaged, of another version or from elsewhere.
 *
 * Nothing is synced while turnd runs: a killed turnd loses nothing of it, since the kernel has it. After a power cut it
 * is made again: it was not closed, and by another boot of the machine. One that turnd has closed has to be as it was then;
 * one of a killed turnd is read through.
 *
 * Never throws for what is on the disk: where no file can be made, the index is in memory.
 */
export function openDatabase(options: OpenOptions): OpenedDatabase {
  const { path } = options;
  let outdated: string;
  try {
    const kept = openKept(options);
    if (typeof kept !== "string") return { database: wrap(kept, options), outdated: undefined };
    outdated = kept;
  } catch (error) {
    outdated = `it cannot be read: ${messageOf(error)}`;
  }
  try {
    removeDatabase(path);
    return { database: wrap(openFresh(options), options), outdated };
  } catch (error) {
    options.onFault(error);
    return { database: wrapDatabase(openMemory(), options, false), outdated };
  }
}

/** Removes the file and what belongs to it, also from a full disk. What is no file is moved aside. */
export function removeDatabase(path: string): void {
  for (const name of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`, sealPath(path)]) {
    const found = lstatSync(name, { throwIfNoEntry: false });
    if (found?.isDirectory() === true) renameSync(name, `${name}.aside-${randomUUID()}`);
    else if (found !== undefined) rmSync(name, { force: true });
  }
}

/** The next start finds that it is none. Its room is kept: on a full disk other programs would take it at once. */
function invalidate(path: string): void {
  try {
    for (const name of [path, `${path}-wal`]) {
      if (lstatSync(name, { throwIfNoEntry: false }) === undefined) continue;
      const file = openSync(name, constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        writeSync(file, Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
      } finally {
        closeSync(file);
      }
    }
  } catch {
    // Not to be written even where it is: what is gone is none either.
    removeDatabase(path);
  }
}

function wrap(connection: DatabaseSync, options: OpenOptions): Database {
  const onFault = (error: unknown): void => {
    options.onFault(error);
    try {
      invalidate(options.path);
    } catch (invalidating) {
      options.onFault(invalidating);
    }
  };
  return wrapDatabase(connection, { onFault, onClosed: () => seal(options.path) }, true);
}

/** @returns why there is none that can be used, where there is none */
function openKept(options: OpenOptions): DatabaseSync | string {
  for (const suffix of ["", "-wal"]) {
    const found = lstatSync(`${options.path}${suffix}`, { throwIfNoEntry: false });
    if (found === undefined && suffix === "") return "there is none";
    if (found !== undefined && !found.isFile()) return "there is no file in its place";
    if (found !== undefined && found.uid !== process.getuid?.()) return `it belongs to uid ${found.uid}`;
    // Not where it is so already: that changes what its seal recognises it by.
    if (found !== undefined && (found.mode & 0o077) !== 0) chmodSync(`${options.path}${suffix}`, 0o600);
  }
  const isSealed = breakSeal(options.path);
  if (isSealed === false) return "it was changed since turnd closed it";
  const connection = openSqlite(options.path);
  try {
    const reason = findFault(connection, options) ?? (isSealed === true ? undefined : findDamage(connection));
    if (reason === undefined) return connection;
    connection.close();
    return reason;
  } catch (error) {
    connection.close();
    throw error;
  }
}

function findFault(connection: DatabaseSync, options: OpenOptions): string | undefined {
  const pragma = (name: string): unknown => Object.values(connection.prepare(`PRAGMA ${name}`).get() ?? {})[0];
  if (pragma("application_id") !== APPLICATION_ID) return "it is no index of turnd";
  if (pragma("user_version") !== SCHEMA_VERSION) return "another version of turnd made it";
  configure(connection);
  const meta = new Map(
    connection
      .prepare("SELECT name, value FROM meta")
      .all()
      .map(({ name, value }) => [name, value]),
  );
  if (meta.get("place") !== placeOf(options)) return "it came from another place";
  if (meta.get("complete") !== "yes") return "it was never completed";
  if (meta.get("closed") !== "yes" && meta.get("boot") !== bootOf(options))
    return "the machine stopped while it was open";
  return undefined;
}

/** Of one that a killed turnd has left, and by whoever came after it: reads all of it, some 5 ms for 1000 turns. */
function findDamage(connection: DatabaseSync): string | undefined {
  const [found] = Object.values(connection.prepare("PRAGMA integrity_check(1)").get() ?? {});
  return found === "ok" ? undefined : `it is damaged: ${String(found).replaceAll("\n", "; ")}`;
}

function openFresh(options: OpenOptions): DatabaseSync {
  // SQLite gives the files beside it the mode that it has.
  closeSync(openSync(options.path, "wx", 0o600));
  const connection = openSqlite(options.path);
  try {
    configure(connection);
    connection.exec(`BEGIN; ${SCHEMA}`);
    const insert = connection.prepare("INSERT INTO meta VALUES (?, ?)");
    insert.run("place", placeOf(options));
    insert.run("boot", bootOf(options));
    connection.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

function configure(connection: DatabaseSync): void {
  connection.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  connection.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA cache_size = -${CACHE_KIB}`);
  connection.exec("PRAGMA temp_store = MEMORY");
}

/** The directory has an inode of its own wherever it is copied to. */
function placeOf({ sessionsDirectory }: OpenOptions): string {
  return String(statSync(sessionsDirectory, { bigint: true }).ino);
}

/** @see random(4) */
export function bootOf({ bootId }: Pick<OpenOptions, "bootId">): string {
  if (bootId !== undefined) return bootId;
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    // No boot is known by another name than this one start's.
    return randomUUID();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
