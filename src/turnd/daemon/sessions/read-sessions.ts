import { chmod, lstat, opendir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { restrictToOwner } from "../storage/restrict-to-owner.ts";
import { makeDirectory } from "../storage/directories.ts";
import { readRegular } from "../storage/read-regular.ts";
import { isDirectory, isMissing } from "./entries.ts";
import { SessionFile } from "./session-file.ts";
import type { SessionStoreOptions } from "./store-options.ts";

/**
 * Opens the directory of the sessions, which it makes where it is missing, and keeps others from listing it.
 *
 * @returns why it is not known what is in it; undefined where it can be listed
 */
export async function openBase(
  base: string,
  { onUnreadable, onExposed }: Pick<SessionStoreOptions, "onUnreadable" | "onExposed">,
): Promise<string | undefined> {
  try {
    await makeDirectory(base, 0o711);
    const directory = await opendir(base);
    try {
      await directory.read();
    } finally {
      await directory.close();
    }
  } catch (error) {
    onUnreadable(base, describeReadError(error));
    return describeUnlisted(base, error);
  }
  try {
    // One that came with a volume may be wider: no other user lists what sessions there are.
    const { mode } = await stat(base);
    if ((mode & ~0o711 & 0o7777) !== 0) await chmod(base, mode & 0o711);
  } catch (error) {
    onExposed(base, error);
  }
  return undefined;
}

/** Why nothing can be let in, and what a person can do. */
export function describeUnlisted(base: string, error: unknown): string {
  const repair = "nothing is let in, since it may have run already; repair it and start turnd again";
  return `${base} cannot be listed (${describeReadError(error)}): ${repair}`;
}

export type ReadSession =
  | { readonly ok: true; readonly session: SessionFile }
  /** Not there: it was never made, and its id is free. */
  | { readonly ok: false; readonly reason: string; readonly isThere: boolean };

/** Reads a session, whose directory is closed to others first. */
export async function readSession(directory: string, id: string): Promise<ReadSession> {
  const unreadable = (reason: string): ReadSession => ({ ok: false, reason, isThere: true });
  try {
    await restrictToOwner(directory, 0o711);
    await restrictToOwner(join(directory, "turns"));
    await closeFile(join(directory, "session.json"));
    const turns = await readdir(join(directory, "turns"));
    const parsed = SessionFile.safeParse(JSON.parse((await readRegular(join(directory, "session.json"))).toString()));
    if (!parsed.success) return unreadable(z.prettifyError(parsed.error));
    const { session_id: named } = parsed.data;
    if (named === id) return { ok: true, session: parsed.data };
    return unreadable(`its session.json is that of session ${named}, beside ${turns.length} turns`);
  } catch (error) {
    // Of one that was never made there is no session.json yet, and no turn.
    const hasAnything =
      !(await isDirectory(directory).catch(() => false)) ||
      (await isAnythingAt(join(directory, "session.json"))) ||
      (await hasTurns(directory));
    return { ok: false, reason: describeReadError(error), isThere: hasAnything };
  }
}

/** Others pass through its directory. What is no file is refused where it is read. */
async function closeFile(path: string): Promise<void> {
  const found = await lstat(path);
  if (found.isFile() && (found.mode & 0o077) !== 0) await chmod(path, found.mode & 0o700);
}

async function hasTurns(directory: string): Promise<boolean> {
  return readdir(join(directory, "turns")).then(
    (names) => names.length > 0,
    // Where no directory can be made, the id is not free either.
    (error: unknown) => !isMissing(error),
  );
}

/** Whether there is an entry, as far as anyone can tell. */
async function isAnythingAt(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => !isMissing(error),
  );
}

/** What an error says. */
export function describeReadError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
