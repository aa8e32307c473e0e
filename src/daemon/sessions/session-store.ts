import { randomUUID } from "node:crypto";
import type { Stats } from "node:fs";
import { chmod, lchown, lstat, readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { CallerId, ExecutorName, Metadata, Permissions, Usage } from "../../protocol/index.ts";
import { syncDirectory, writeFileAtomic } from "./atomic-file.ts";
import { makeDirectory } from "./directories.ts";
import { createRemovals, type RemovalsOptions } from "./removals.ts";

/** `session.json`: what is known of a session besides its turns. */
export const SessionFile = z.object({
  v: z.literal(1),
  session_id: CallerId,
  executor: ExecutorName,
  workspace: z.string(),
  permissions: Permissions,
  metadata: Metadata.optional(),
  /** The CLI's own id, once it is known. */
  native_session_id: z.string().optional(),
  /** What the native session has used so far, for a CLI that counts over the whole session. */
  native_usage: Usage.optional(),
  created_at: z.iso.datetime(),
});
export type SessionFile = z.infer<typeof SessionFile>;

/** Where a session's things are. Source: DESIGN section 4. */
export interface SessionPaths {
  readonly root: string;
  /** The CLI's own state; owned by the CLIs' user. */
  readonly home: string;
  readonly turns: string;
}

/** The sessions of one state directory; what it holds in memory is what is on disk. */
export interface SessionStore {
  get(sessionId: string): SessionFile | undefined;
  list(): SessionFile[];
  /** Ids of sessions that are on the disk and cannot be read: none of them is free. */
  unreadable(): readonly string[];
  paths(sessionId: string): SessionPaths;
  /** Durable when it resolves. The caller has made sure that the id is free. */
  create(session: SessionFile): Promise<void>;
  /** Whether the directory with the CLI's own state is there. */
  hasHome(sessionId: string): Promise<boolean>;
  /** Makes the home where it is gone; what stands in its place and is no directory is moved aside. */
  ensureHome(sessionId: string): Promise<void>;
  update(sessionId: string, change: SessionChange): Promise<void>;
  /** Removes a session. Once it is gone for good this resolves, even where files of it are left for a later try. */
  remove(sessionId: string): Promise<void>;
  /** Gives up removals that are under way: the next start goes on with them. */
  close(): Promise<void>;
}

/** What a turn changes in its session; an `undefined` value takes the old one away. */
export type SessionChange = { readonly [K in "native_session_id" | "native_usage"]?: SessionFile[K] | undefined };

export interface SessionStoreOptions {
  readonly stateDirectory: string;
  readonly owner: { readonly uid: number; readonly gid: number };
  /** Removes a directory tree of which a part is the owner's; throws when something is left after the limit. */
  readonly removeTree: RemovalsOptions["removeTree"];
  /** Told of a directory that is no session: it is left alone. */
  readonly onUnreadable: (path: string, reason: string) => void;
  /** Told of a removed session of which something is left on the disk; it is tried again. */
  readonly onLeft: (path: string, error: unknown) => void;
}

/** In the name of a directory that is being removed, and in no session's: ids have no such character. */
const REMOVED = "~removed-";

/**
 * Opens the sessions below a state directory, which it makes where it is missing.
 *
 * @throws the system's error when the directory cannot be made, listed or written
 */
export async function openSessionStore(options: SessionStoreOptions): Promise<SessionStore> {
  const base = join(options.stateDirectory, "sessions");
  await makeDirectory(base, 0o711);
  // One that came with a volume may be wider: nobody else lists what sessions there are.
  const { mode } = await lstat(base);
  if ((mode & ~0o711 & 0o7777) !== 0) await chmod(base, mode & 0o711);
  const removals = createRemovals(options);
  const sessions = new Map<string, SessionFile>();
  const unreadable: string[] = [];
  for (const name of await readdir(base)) {
    if (name.includes(REMOVED)) removals.resume(join(base, name));
    else {
      const read = await readSession(join(base, name));
      if (read.ok) sessions.set(read.session.session_id, read.session);
      else {
        options.onUnreadable(join(base, name), read.reason);
        if (read.isThere) unreadable.push(name);
      }
    }
  }

  const paths = (sessionId: string): SessionPaths => {
    const root = join(base, sessionId);
    return { root, home: join(root, "home"), turns: join(root, "turns") };
  };
  const save = async (session: SessionFile): Promise<void> => {
    await writeFileAtomic(join(paths(session.session_id).root, "session.json"), `${JSON.stringify(session)}\n`);
    sessions.set(session.session_id, session);
  };

  // Its parent is turnd's alone, so that nobody can put another directory under the name meanwhile.
  const makeHome = async (home: string): Promise<void> => {
    await makeDirectory(home, 0o700);
    await lchown(home, options.owner.uid, options.owner.gid);
  };
  const hasHome = (sessionId: string): Promise<boolean> => isDirectory(paths(sessionId).home);

  return {
    get: (sessionId) => sessions.get(sessionId),
    list: () => [...sessions.values()],
    unreadable: () => unreadable,
    paths,
    async create(session) {
      const { root, home, turns } = paths(session.session_id);
      await makeDirectory(root, 0o711);
      await makeDirectory(turns, 0o700);
      await makeHome(home);
      await save(session);
      await syncDirectory(base);
    },
    hasHome,
    async ensureHome(sessionId) {
      if (await hasHome(sessionId)) return;
      const { home } = paths(sessionId);
      if (await isThere(home)) await rename(home, `${home}.aside-${randomUUID()}`);
      await makeHome(home);
    },
    async update(sessionId, change) {
      const session = sessions.get(sessionId);
      if (session === undefined) throw new Error(`session ${sessionId} is not there to be updated`);
      await save({ ...session, ...change });
    },
    async remove(sessionId) {
      const { root } = paths(sessionId);
      // A name of its own: something of an earlier session with this id may be left.
      const removed = `${root}${REMOVED}${randomUUID()}`;
      await rename(root, removed);
      sessions.delete(sessionId);
      await syncDirectory(base);
      await removals.remove(removed);
    },
    close: () => removals.close(),
  };
}

async function isThere(path: string): Promise<boolean> {
  return (await lstatIfThere(path)) !== undefined;
}

async function isDirectory(path: string): Promise<boolean> {
  return (await lstatIfThere(path))?.isDirectory() === true;
}

async function lstatIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

type ReadSession =
  | { readonly ok: true; readonly session: SessionFile }
  /** Not there: it was never made, and its id is free. */
  | { readonly ok: false; readonly reason: string; readonly isThere: boolean };

async function readSession(directory: string): Promise<ReadSession> {
  const path = join(directory, "session.json");
  try {
    const parsed = SessionFile.safeParse(JSON.parse(await readFile(path, "utf8")));
    if (parsed.success) return { ok: true, session: parsed.data };
    return { ok: false, reason: z.prettifyError(parsed.error), isThere: true };
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    return { ok: false, reason: error instanceof Error ? error.message : String(error), isThere: !isMissing };
  }
}
