import { existsSync, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { SettingsError, type Settings } from "../settings.ts";

/**
 * Programs are found here, and root's tools read their settings: the CLIs' user may add nothing, not even a directory.
 */
const SYSTEM = ["/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr"];

/**
 * Refuses directories that would give root's own files to the CLIs' user: nothing of turnd, root or the system may lie
 * in that user's home or default workspace. `entrypoint.sh` refuses more, before it changes any owner
 * (`sandbox/directories`).
 *
 * Where the CLIs run as turnd's own user there is nothing to separate.
 * @param turndDirectory where turnd's own files are: a folder above `sandbox/`
 * @throws {SettingsError} that names the variable, the directory and the reason
 */
export function assertPlaces({ values, runAs }: Settings, turndDirectory: string): void {
  if (runAs.isSelf) return;
  const state = resolveLinks(values.TURND_STATE_DIR);
  const rootsHome = resolveLinks(findRootsHome());
  const owns = [
    { path: state, what: "the state directory" },
    { path: resolveLinks(turndDirectory), what: "turnd's own files" },
    { path: resolveLinks(process.execPath), what: "the program that turnd runs on" },
    { path: rootsHome, what: "root's home" },
  ];
  const problems = (["TURND_HOME", "TURND_WORKSPACE"] as const).flatMap((variable) => {
    const place = resolveLinks(values[variable]);
    const held = owns.find(({ path }) => isIn(path, place));
    if (held !== undefined) return [`${variable} is ${place}: it must not hold ${held.what}, ${held.path}`];
    if (isIn(place, state)) return [`${variable} is ${place}: it must not lie in the state directory, ${state}`];
    if (isIn(place, rootsHome)) return [`${variable} is ${place}: it must not lie in root's home, ${rootsHome}`];
    const system = SYSTEM.find((path) => isIn(place, resolveLinks(path)));
    if (system === undefined || isUsers(place, runAs.uid) || isMounted(place)) return [];
    return [`${variable} is ${place}: it must not lie in ${system}, unless it is uid ${runAs.uid}'s or a volume`];
  });
  if (problems.length > 0) throw new SettingsError(problems);
}

/**
 * Refuses a state that the CLIs' user owns or can write: that user could forge it, and lead root anywhere by a link in
 * it.
 *
 * @throws {SettingsError} that names the owner
 */
export function assertStateIsOurs({ values, runAs }: Settings): void {
  if (runAs.isSelf) return;
  const { uid, mode } = statSync(values.TURND_STATE_DIR);
  if (uid !== runAs.uid && (mode & 0o022) === 0) return;
  const found = `uid ${uid}, mode ${(mode & 0o7777).toString(8)}`;
  throw new SettingsError([
    `TURND_STATE_DIR is ${values.TURND_STATE_DIR} (${found}): it must belong to root, and no other user may write to it`,
  ]);
}

/** The path without links, also of a path that does not exist yet. */
function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It does not exist or may not be read: its parent decides.
    return dirname(path) === path ? path : join(resolveLinks(dirname(path)), basename(path));
  }
}

function isIn(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

function isUsers(path: string, uid: number): boolean {
  return existsSync(path) && lstatSync(path).uid === uid;
}

/** Whether it is on another file system than the image's own. */
function isMounted(path: string): boolean {
  return existsSync(path) && statSync(path).dev !== statSync("/").dev;
}

function findRootsHome(): string {
  const users = existsSync("/etc/passwd") ? readFileSync("/etc/passwd", "utf8").split("\n") : [];
  return users.map((line) => line.split(":")).find((fields) => fields[2] === "0")?.[5] ?? "/root";
}
