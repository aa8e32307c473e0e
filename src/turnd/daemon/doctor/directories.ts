import { access, constants, lstat, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ProblemError } from "../../protocol/index.ts";
import type { RunAs } from "../process/run-as.ts";
import { findClosed } from "../process/user-files/find-closed.ts";
import { runTool } from "../process/run-tool.ts";
import { describeFault } from "../storage/describe-fault.ts";
import { listOpen } from "../storage/state-modes.ts";
import { checkWorkspace } from "../turns/executors/workspace.ts";
import { describeOwner, fault, ok, warn, type Subject, type Verdict } from "./check.ts";

const TOOL_TIMEOUT_MS = 30_000;
/** More would make a check of an old volume last for minutes. */
const MAX_SESSIONS = 1_000;
const MAX_NAMED = 3;
/** Written into the home and removed. */
const MARK = ".turnd-doctor";

export async function checkHome({ home, runAs }: Subject): Promise<Verdict> {
  const found = await stat(home).catch(() => undefined);
  if (found === undefined) return warn(`${home} does not exist; turnd makes it when it starts`, "make it in the image");
  const give = `chown -R ${runAs.uid}:${runAs.gid} ${home}`;
  if (!found.isDirectory()) return fault(`${home} is no directory`, "name a directory in TURND_HOME");
  if (found.uid !== runAs.uid) return fault(`${home} (${describeOwner(found)}) is not uid ${runAs.uid}'s`, give);
  if ((found.mode & 0o022) !== 0) {
    return warn(`${home} (${describeOwner(found)}) can be written by others`, `chmod go-w ${home}`);
  }
  const foreign = await listForeign(home, runAs);
  if (foreign.length > 0) return fault(`in ${home} not uid ${runAs.uid}'s: ${foreign.join(", ")}`, give);
  const written = await runTool(["/bin/sh", "-c", ': >"$1" && exec /bin/rm -- "$1"', "sh", join(home, MARK)], {
    runAs,
    timeoutMs: TOOL_TIMEOUT_MS,
  });
  if (written.code !== 0) return fault(`${home} cannot be written: ${written.stderr}`, "mount it writable");
  return ok(`${home} is uid ${runAs.uid}'s (${describeOwner(found)})`);
}

/** Whether a start can make it: whether the nearest directory above that is there can be written. */
async function judgeMissing(path: string): Promise<Verdict> {
  try {
    await access(await nearest(dirname(path)), constants.W_OK);
    return ok(`${path} does not exist yet; turnd makes it when it starts`);
  } catch (error) {
    return fault(`${path} cannot be made: ${describeFault(error)}`, "name another in TURND_STATE_DIR");
  }
}

async function nearest(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined || dirname(path) === path ? path : nearest(dirname(path));
}

/** What CLIs or an image's build left in a home that its user cannot change. */
async function listForeign(home: string, runAs: RunAs): Promise<string[]> {
  // As that user: who owns a directory could lead root anywhere meanwhile.
  const find = ["/usr/bin/find", home, "-xdev", "!", "-uid", String(runAs.uid), "-print"];
  const { stdout } = await runTool(find, { runAs, timeoutMs: TOOL_TIMEOUT_MS });
  const all = stdout.split("\n").filter(Boolean);
  return all.length > MAX_NAMED ? [...all.slice(0, MAX_NAMED), `${all.length - MAX_NAMED} more`] : all;
}

export async function checkState({ stateDirectory, runAs }: Subject): Promise<Verdict> {
  const self = process.getuid?.() ?? 0;
  const found = await stat(stateDirectory).catch(() => undefined);
  const closed = await findClosed(stateDirectory, runAs);
  if (closed !== undefined) {
    const remedy = "let it enter that directory (chmod o+x), or name another in TURND_STATE_DIR";
    return fault(
      `the homes of sessions are in ${stateDirectory}, and uid ${runAs.uid} may not enter ${closed}`,
      remedy,
    );
  }
  if (found === undefined) return judgeMissing(stateDirectory);
  const modes = await listWrong(stateDirectory, { self, user: runAs.uid });
  if (!found.isDirectory()) return fault(`${stateDirectory} is no directory`, "name a directory in TURND_STATE_DIR");
  if (found.uid !== self) {
    return fault(
      `${stateDirectory} (${describeOwner(found)}) is not uid ${self}'s, and its owner could forge it`,
      `chown ${self} ${stateDirectory}`,
    );
  }
  const [first] = modes;
  if (first !== undefined) {
    const more = modes.length > 1 ? `, and ${modes.length - 1} more` : "";
    return fault(`${first.path} (${first.is}) should be ${first.should}${more}`, first.remedy);
  }
  // Asked of the disk itself: root may write where the mode says nothing, and not where a mount is read-only.
  const writable = await runTool(["/usr/bin/test", "-w", stateDirectory], {
    runAs: { ...runAs, uid: self, gid: 0, isSelf: true },
    timeoutMs: TOOL_TIMEOUT_MS,
  });
  return writable.code === 0
    ? ok(`${stateDirectory} and its sessions have their owners and modes`)
    : fault(`${stateDirectory} cannot be written`, "mount it writable");
}

interface Wrong {
  readonly path: string;
  readonly is: string;
  readonly should: string;
  readonly remedy: string;
}

/** What has an owner or mode that lets the CLIs read what is turnd's, or keeps them from what is theirs. */
async function listWrong(stateDirectory: string, owners: { self: number; user: number }): Promise<Wrong[]> {
  const sessions = join(stateDirectory, "sessions");
  const ids = (await readdir(sessions).catch(() => [])).slice(0, MAX_SESSIONS);
  const rules = [
    { path: stateDirectory, uid: owners.self, mode: 0o711 },
    { path: sessions, uid: owners.self, mode: 0o711 },
    ...ids.flatMap((id) => [
      { path: join(sessions, id), uid: owners.self, mode: 0o711 },
      { path: join(sessions, id, "turns"), uid: owners.self, mode: 0o700 },
      { path: join(sessions, id, "home"), uid: owners.user, mode: 0o700 },
    ]),
  ];
  const open = (await isListable(stateDirectory)) ? listOpen(stateDirectory) : [];
  const exposed = open.flatMap(({ path, mode, allowed }): Wrong[] => {
    if (path === stateDirectory) return [];
    const closed = (mode & allowed).toString(8);
    const is = describeOwner({ uid: owners.self, mode });
    return [{ path, is, should: `uid ${owners.self}, mode ${closed}`, remedy: `chmod ${closed} ${path}` }];
  });
  const wrong = await Promise.all(
    rules.map(async ({ path, uid, mode }): Promise<Wrong[]> => {
      const found = await lstat(path).catch(() => undefined);
      // What is missing is made when it is needed. Stricter is no better: the CLIs could not reach their homes.
      if (found === undefined || (found.uid === uid && (found.mode & 0o777) === mode)) return [];
      const remedy = found.uid === uid ? `chmod ${mode.toString(8)} ${path}` : `chown ${uid} ${path}`;
      return [{ path, is: describeOwner(found), should: `uid ${uid}, mode ${mode.toString(8)}`, remedy }];
    }),
  );
  return [...wrong.flat(), ...exposed];
}

async function isListable(directory: string): Promise<boolean> {
  return readdir(directory).then(
    () => true,
    // What it is instead is reported by the other checks.
    () => false,
  );
}

export async function checkWorkspaceUse({ workspace, workspaceRoots, runAs }: Subject): Promise<Verdict> {
  try {
    await checkWorkspace(workspace, { roots: workspaceRoots, runAs });
    return ok(`uid ${runAs.uid} can read, write and enter ${workspace}`);
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return fault(error.message, `chown ${runAs.uid}:${runAs.gid} ${workspace}, or name another in TURND_WORKSPACE`);
  }
}

export async function checkTemporary({ runAs }: Subject): Promise<Verdict> {
  const result = await runTool(["/usr/bin/test", "-w", "/tmp", "-a", "-x", "/tmp"], {
    runAs,
    timeoutMs: TOOL_TIMEOUT_MS,
  });
  return result.code === 0
    ? ok(`uid ${runAs.uid} can use /tmp`)
    : fault(`uid ${runAs.uid} cannot use /tmp`, "chmod 1777 /tmp, or mount a tmpfs there");
}
