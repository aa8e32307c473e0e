import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { SettingsError } from "../src/turnd/daemon/settings.ts";
import { describeFault } from "../src/turnd/daemon/storage/describe-fault.ts";
import { makeDirectories } from "../src/turnd/daemon/storage/directories.ts";
import { toRunAs, type RunAs } from "../src/turnd/daemon/process/run-as.ts";
import { makeUserDirectory } from "../src/turnd/daemon/process/user-files/user-directory.ts";
import { EXECUTORS } from "../src/turnd/daemon/executors/registry.ts";
import { chooseCliUser, type CliUserChoice } from "./cli-user.ts";
import { provideClis } from "./clis.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Places for what the environment does not name. */
interface Places {
  readonly state: string;
  /** Home and workspace go below it: below the state they could not be kept apart from that. */
  readonly users: string;
  /** The repository, for a program that is bundled. */
  readonly root?: string;
  /** Whether nothing of it is to stay on the machine: no user is made for it. */
  readonly isTemporary?: boolean;
}

/** What a machine needs beyond the sandbox image's environment. */
export interface FilledEnvironment {
  /** Overrides of the given environment; no variable that was set there, but for a longer PATH. */
  readonly env: Readonly<Record<string, string>>;
  /** The user of the CLIs. */
  readonly owner: { readonly uid: number; readonly gid: number };
  readonly notes: readonly string[];
}

/**
 * Fills in what turnd needs and the environment does not set: who the CLIs run as, where state, home and workspace are,
 * and the pinned CLIs under their real names. Makes the directories it names itself, with their right owner.
 *
 * @param places - for what the environment does not name
 * @throws {SettingsError} where one of its places cannot be used
 */
export async function fillEnvironment(given: Env, places: Places): Promise<FilledEnvironment> {
  const self = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const env: Record<string, string> = {};
  const fill = (name: string, value: string): boolean => {
    if (given[name] !== undefined && given[name] !== "") return false;
    env[name] = value;
    return true;
  };
  fill("TURND_STATE_DIR", places.state);
  const state = env["TURND_STATE_DIR"] ?? given["TURND_STATE_DIR"] ?? places.state;
  await usePlace("TURND_STATE_DIR", state, () => makeDirectories(state, 0o711));
  const { runAs, note } = await findRunAs(given, { ...places, state });
  fill("TURND_RUN_AS", runAs);
  const owner = readOwner(runAs) ?? self;
  for (const [name, folder, mode] of [
    ["TURND_HOME", "home", 0o700],
    ["TURND_WORKSPACE", "workspace", 0o755],
  ] as const) {
    const path = join(places.users, folder);
    if (!fill(name, path)) continue;
    await usePlace(name, path, async () => {
      await makeDirectories(places.users, 0o755);
      await makeUserDirectory(path, runAsOf(owner), mode);
    });
  }
  const { root } = places;
  const provided = { directory: state, ...owner, ...(root === undefined ? {} : { root }) };
  const clis = await usePlace("TURND_STATE_DIR", state, () => provideClis(provided));
  // Any other name means a CLI of one's own, to be found on PATH.
  for (const { id, builtAs, variablePrefix } of EXECUTORS) {
    const bundled = clis.binaries[id];
    const name = `${variablePrefix}_NAME`;
    if (bundled === undefined) continue;
    if (fill(name, builtAs) || given[name] === builtAs) fill(`${variablePrefix}_BIN`, bundled);
  }
  const path = given["PATH"] ?? "/usr/local/bin:/usr/bin:/bin";
  if (!(await isOnPath("rg", path))) env["PATH"] = `${path}:${clis.toolsDirectory}`;
  return { env, owner, notes: note === undefined ? [] : [note] };
}

/** @throws {SettingsError} with the variable that names another place, where the disk is read-only, full or another user's */
async function usePlace<T>(variable: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
    throw new SettingsError([`${variable} is "${path}": cannot be used: ${describeFault(error)}`]);
  }
}

async function findRunAs(given: Env, { state, users, isTemporary }: Places): Promise<CliUserChoice> {
  const chosen = given["TURND_RUN_AS"] ?? "";
  if (chosen !== "") return { runAs: chosen };
  const places = [given["TURND_HOME"], given["TURND_WORKSPACE"], join(users, "home"), join(users, "workspace")];
  const directories = places.flatMap((path) => (path === undefined || path === "" ? [] : [path]));
  return chooseCliUser({ state, directories }, isTemporary !== true);
}

/** @returns undefined for `self`, and for anything that turnd itself will refuse */
export function readOwner(runAs: string): FilledEnvironment["owner"] | undefined {
  const [, uid, gid] = /^(\d+):(\d+)$/.exec(runAs) ?? [];
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

async function isOnPath(name: string, path: string): Promise<boolean> {
  for (const directory of path.split(":")) {
    const isThere = await access(join(directory, name), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return true;
  }
  return false;
}

/** Does something as the CLIs' user. */
export function runAsOf({ uid, gid }: FilledEnvironment["owner"]): RunAs {
  return toRunAs({ uid, gid, isSelf: uid === process.getuid?.() }, join(import.meta.dirname, "../sandbox"));
}
