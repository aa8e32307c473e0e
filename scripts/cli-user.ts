import { execFile } from "node:child_process";
import { access, constants, lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { SettingsError } from "../src/turnd/daemon/settings.ts";
import { readAccounts, type Account } from "../src/turnd/daemon/process/accounts.ts";

/** Whom the CLIs run as on a machine that is no image. */
export interface CliUserChoice {
  /** As `TURND_RUN_AS` has it. */
  readonly runAs: string;
  /** A message for the person; absent where there is none. */
  readonly note?: string;
}

/** What shows which user a state was made with, best first; what is not there shows nothing. */
export interface CliUserTraces {
  /** Holds sessions, each with a home of that user. */
  readonly state: string;
  /** Directories that belong to that user. */
  readonly directories: readonly string[];
}

/** The user that `npm start` and `npm run service` make. */
export const OWN_USER = "turnd-cli";
/** The image's user, and the fallback where no user can be made. */
const USUAL = "1000:1000";
const PROGRAMS = ["/usr/sbin/useradd", "/sbin/useradd", "/usr/bin/useradd"];
const SHELLS = ["/usr/sbin/nologin", "/sbin/nologin", "/bin/false"];
const FLOCK = "/usr/bin/flock";
/** useradd looks for the name before it takes its own lock: two of them would both make the user, and the later one wins. */
const UNLESS_THERE = 'grep -q "^$1:" /etc/passwd || { shift; exec "$@"; }';
const LOCK_WAIT_S = 10;
const LIMIT_MS = 20_000;
/** Another program may hold the lock of the accounts. */
const TRIES = 5;
const PAUSE_MS = 500;

/**
 * Chooses the user of the CLIs where none is set: for an existing state the one it was made with, whose homes it has; for
 * a new one a user who logs in nowhere and owns nothing else. Without root: the user of this process.
 *
 * @throws {SettingsError} where a state is there and cannot be looked at
 * @param mayMake - false where nothing must stay on the machine, as of the demo: an existing user is used
 */
export async function chooseCliUser(traces: CliUserTraces, mayMake: boolean): Promise<CliUserChoice> {
  const uid = process.getuid?.() ?? 0;
  if (uid !== 0) {
    return { runAs: "self", note: `not root: the CLIs run as this user too, uid ${uid} (TURND_RUN_AS=self)` };
  }
  const owner = await findOwner(traces);
  if (owner !== undefined) return { runAs: owner };
  const known = await findOwnUser();
  if (known !== undefined) return { runAs: idsOf(known) };
  if (!mayMake) return { runAs: USUAL };
  try {
    const made = await makeOwnUser();
    const note = `the CLIs run as ${made.name}, uid ${made.uid}: a user that was made for them, who logs in nowhere`;
    return { runAs: idsOf(made), note };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return {
      runAs: USUAL,
      note: `no user of their own can be made for the CLIs (${reason}): they run as uid 1000 (TURND_RUN_AS)`,
    };
  }
}

async function findOwner({ state, directories }: CliUserTraces): Promise<string | undefined> {
  for (const path of [await findHome(join(state, "sessions")), ...directories]) {
    const found = path === undefined ? undefined : await lstat(path).catch(unlessMissing);
    // Directories of root's show nothing: no CLI runs as root.
    if (found?.isDirectory() === true && found.uid !== 0) return `${found.uid}:${found.gid}`;
  }
  return undefined;
}

/** The home of any session. */
async function findHome(sessions: string): Promise<string | undefined> {
  const directory = await opendir(sessions).catch(unlessMissing);
  if (directory === undefined) return undefined;
  for await (const { name } of directory) {
    const home = join(sessions, name, "home");
    const found = await lstat(home).catch(unlessMissing);
    if (found?.isDirectory() === true && found.uid !== 0) return home;
  }
  return undefined;
}

/** A path that cannot be read may have any owner: no other user must be chosen for it. */
function unlessMissing(error: unknown): undefined {
  if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
    return undefined;
  const reason = error instanceof Error ? error.message : String(error);
  throw new SettingsError([`TURND_RUN_AS is not set, and whose the state is cannot be seen (${reason}): set it`]);
}

async function findOwnUser(): Promise<Account | undefined> {
  return (await readAccounts()).find(({ name, uid }) => name === OWN_USER && uid !== 0);
}

async function makeOwnUser(): Promise<Account> {
  const program = await findProgram(PROGRAMS);
  if (program === undefined) throw new Error("there is no useradd");
  // Not left to useradd, which is asked again where it says that it cannot lock what it cannot write.
  await access("/etc", constants.W_OK);
  const shell = (await findProgram(SHELLS)) ?? "/bin/false";
  const how = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent", "--shell", shell];
  let reason = "";
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (tries > 0) await delay(PAUSE_MS);
    const useradd = [program, ...how, "--comment", "CLIs of turnd", OWN_USER];
    const locked = ["--wait", String(LOCK_WAIT_S), "/etc", "/bin/sh", "-c", UNLESS_THERE, "sh", OWN_USER, ...useradd];
    reason = await run(FLOCK, locked);
    const made = await findOwnUser();
    if (made !== undefined) return made;
    if (!/lock/.test(reason)) break;
  }
  throw new Error(reason === "" ? `useradd has made no ${OWN_USER}` : reason);
}

/** @returns why it failed; empty where it did not */
async function run(program: string, args: readonly string[]): Promise<string> {
  try {
    await promisify(execFile)(program, args, { timeout: LIMIT_MS, env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" } });
    return "";
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    return said.split("\n")[0] || String(error);
  }
}

async function findProgram(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}

function idsOf({ uid, gid }: Account): string {
  return `${uid}:${gid}`;
}
