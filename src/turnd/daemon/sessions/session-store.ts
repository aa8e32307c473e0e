import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { lchown, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { keyOf, lookAtDirectory } from "../state-index/file-key.ts";
import { createMemoryIndex, type SessionPlace } from "../state-index/state-index.ts";
import { allDone } from "../storage/all-done.ts";
import { putInPlace, syncDirectory, writeBeside, writeFileAtomic } from "../storage/atomic-file.ts";
import { makeDirectory } from "../storage/directories.ts";
import { createRemovals } from "../storage/removals.ts";
import { isDirectory, isThere, rmdirIfThere } from "./entries.ts";
import { freeRemoved, removeSession } from "./free-removed.ts";
import { describeReadError, describeUnlisted, openBase, readSession } from "./read-sessions.ts";
import { SessionFile } from "./session-file.ts";
import type { SessionStoreOptions } from "./store-options.ts";

/** Where a session's things are. Source: docs/design.md §2. */
export interface SessionPaths {
  readonly root: string;
  /** The CLI's own state; owned by the CLIs' user. */
  readonly home: string;
  readonly turns: string;
  /** What git needs for the diff of a turn; made where one is asked for. */
  readonly changes: string;
}

/** The sessions of one state directory; what the index has of them is what is on disk. */
export interface SessionStore {
  get(sessionId: string): SessionFile | undefined;
  /** Newest first. */
  page(page: { readonly before?: SessionPlace | undefined; readonly limit: number }): SessionFile[];
  /** Ids of what is on the disk; none, and a `fault` from then on, where it cannot be listed. */
  listNames(): Promise<readonly string[]>;
  /** Reads a session from the disk. @returns false where it is none, or cannot be read */
  read(sessionId: string): Promise<boolean>;
  /** What recognises its directories and its file as they are now. */
  keyOf(sessionId: string): string;
  /** Whether it has the turns now that it had when it was recognised by a key, so many: one look at one directory. */
  hasTurnsOf(sessionId: string, key: string, turns: number): boolean;
  /** Ids of sessions that are on the disk and cannot be read: none of them is free. */
  unreadable(): readonly string[];
  isUnreadable(sessionId: string): boolean;
  /** Why the sessions on the disk could not even be listed, and what a person can do; undefined when they were. */
  fault(): string | undefined;
  paths(sessionId: string): SessionPaths;
  /** Durable when it resolves. The caller has made sure that the id is free. */
  create(session: SessionFile): Promise<void>;
  /** Takes back a session that was just made, with no turn in it. Never throws: where something is left, it stays a session. */
  withdraw(sessionId: string): Promise<void>;
  /** Whether the directory with the CLI's own state is there. */
  hasHome(sessionId: string): Promise<boolean>;
  /** Makes the home where it is gone; what stands in its place and is no directory is moved aside. */
  ensureHome(sessionId: string): Promise<void>;
  update(sessionId: string, change: SessionChange): Promise<void>;
  /**
   * Takes a session out of the list, readable or not, by renaming its directory; durable when it resolves.
   *
   * @returns the directory, to be discarded
   */
  detach(sessionId: string): Promise<string>;
  /** Directories that an earlier daemon had detached and not discarded; known once the names are listed. */
  removed(): readonly string[];
  /** Removes what takes room of a detached session: everything but what names the requests of its turns. Never throws. */
  freeRemoved(directory: string): Promise<void>;
  /** Removes a detached session, with the workspace that turnd has made for it. Never throws: what cannot be removed now is tried again from time to time. */
  discardRemoved(directory: string): Promise<void>;
  /** The same without waiting for it. */
  discardLater(directory: string): void;
  /** Gives up removals that are under way: the next start goes on with them. */
  close(): Promise<void>;
}

/** What changes in a session; an `undefined` value takes the old one away. */
export type SessionChange = {
  readonly [
    K in
      | "native_session_id"
      | "native_home"
      | "native_usage"
      | "native_history_lost"
      | "native_instructions"
      | "own_workspace"
  ]?: SessionFile[K] | undefined;
};

/** In the name of a directory that is being removed, and in no session's: ids have no such character. */
const REMOVED = "~removed-";

/**
 * Opens the sessions below a state directory, which it makes where it is missing. None is read from the disk.
 *
 * Never throws for what is there: where nothing can be listed `fault` is set. None may be made then.
 */
export async function openSessionStore(options: SessionStoreOptions): Promise<SessionStore> {
  const base = join(options.stateDirectory, "sessions");
  const { index = createMemoryIndex() } = options;
  const removals = createRemovals({
    ...options,
    removeTree: (path, bounds) => removeSession(path, bounds, options),
  });
  const unreadable = new Set<string>();
  const removed: string[] = [];
  let fault = await openBase(base, options);

  const paths = (sessionId: string): SessionPaths => {
    const root = join(base, sessionId);
    return { root, home: join(root, "home"), turns: join(root, "turns"), changes: join(root, "changes") };
  };
  const TURNS_IN_KEY = 1;
  const keyOfSession = (sessionId: string): string => {
    const { root, turns } = paths(sessionId);
    return keyOf([root, turns, join(root, "session.json")]);
  };
  function get(sessionId: string): SessionFile | undefined {
    const row = index.session(sessionId);
    return row === undefined ? undefined : SessionFile.parse(JSON.parse(row.data));
  }
  function remember(session: SessionFile): void {
    const { session_id, created_at } = session;
    index.putSession({ session_id, created_at, key: keyOfSession(session_id), data: JSON.stringify(session) });
  }
  const save = async (session: SessionFile): Promise<void> => {
    await writeFileAtomic(join(paths(session.session_id).root, "session.json"), toText(session));
    remember(session);
  };
  async function listNames(): Promise<readonly string[]> {
    if (fault !== undefined) return [];
    try {
      const names = await readdir(base);
      removed.push(...names.filter((name) => name.includes(REMOVED)).map((name) => join(base, name)));
      return names.filter((name) => !name.includes(REMOVED));
    } catch (error) {
      options.onUnreadable(base, describeReadError(error));
      fault = describeUnlisted(base, error);
      return [];
    }
  }
  async function read(sessionId: string): Promise<boolean> {
    const found = await readSession(paths(sessionId).root, sessionId);
    if (found.ok) remember(found.session);
    else {
      index.forgetSession(sessionId);
      options.onUnreadable(paths(sessionId).root, found.reason);
      if (found.isThere) unreadable.add(sessionId);
    }
    return found.ok;
  }

  // Its parent is only turnd's, so that no other user can put another directory under the name meanwhile.
  const makeHome = async (home: string): Promise<void> => {
    await makeDirectory(home, 0o700);
    await lchown(home, options.owner.uid, options.owner.gid);
  };
  async function withdraw(sessionId: string): Promise<void> {
    const { root, home, turns } = paths(sessionId);
    try {
      // Nothing but what is empty: a turn or a file of the CLIs' user keeps the session.
      for (const directory of [turns, home]) await rmdirIfThere(directory);
      for (const name of ["session.json", "session.json.new"]) await rm(join(root, name), { force: true });
      index.forgetSession(sessionId);
      await rmdirIfThere(root);
    } catch (error) {
      options.onLeft(root, error);
    }
  }
  const hasHome = (sessionId: string): Promise<boolean> => isDirectory(paths(sessionId).home);

  return {
    get,
    page: (page) => index.pageSessions(page).map(({ data }) => SessionFile.parse(JSON.parse(data))),
    listNames,
    read,
    keyOf: keyOfSession,
    hasTurnsOf(sessionId, key, count) {
      const { turns } = paths(sessionId);
      try {
        const found = lookAtDirectory(turns);
        if (key.split(" ")[TURNS_IN_KEY] !== found.key) return false;
        return found.directories === count || readdirSync(turns).length === count;
      } catch {
        // Whoever reads it reports why it cannot be.
        return false;
      }
    },
    unreadable: () => [...unreadable],
    isUnreadable: (sessionId) => unreadable.has(sessionId),
    fault: () => fault,
    paths,
    async create(session) {
      const { root, home, turns } = paths(session.session_id);
      try {
        await makeDirectory(root, 0o711);
        await makeDirectory(turns, 0o700);
        const written = writeBeside(join(root, "session.json"), toText(session));
        // With its file it is a session, which has these directories.
        await putInPlace(await allDone(written, makeHome(home)));
        await allDone(syncDirectory(root), syncDirectory(base));
        remember(session);
      } catch (error) {
        // A client that repeats it on a full disk would leave another directory each time.
        await withdraw(session.session_id);
        throw error;
      }
    },
    withdraw,
    hasHome,
    async ensureHome(sessionId) {
      if (await hasHome(sessionId)) return;
      const { home } = paths(sessionId);
      if (await isThere(home)) await rename(home, `${home}.aside-${randomUUID()}`);
      await makeHome(home);
    },
    async update(sessionId, change) {
      const session = get(sessionId);
      if (session === undefined) throw new Error(`session ${sessionId} is not there to be updated`);
      await save({ ...session, ...change });
    },
    async detach(sessionId) {
      const { root } = paths(sessionId);
      // A name of its own: something of an earlier session with this id may be left.
      const directory = `${root}${REMOVED}${randomUUID()}`;
      await rename(root, directory);
      index.forgetSession(sessionId);
      unreadable.delete(sessionId);
      // It cannot be taken back: where the disk fails now, it is as durable as can be.
      await syncDirectory(base).catch((error: unknown) => options.onLeft(base, error));
      return directory;
    },
    removed: () => removed,
    freeRemoved: (directory) => freeRemoved(directory, options),
    discardRemoved: (directory) => removals.remove(directory),
    discardLater: (directory) => removals.resume(directory),
    close: () => removals.close(),
  };
}

function toText(session: SessionFile): string {
  return `${JSON.stringify(session)}\n`;
}
