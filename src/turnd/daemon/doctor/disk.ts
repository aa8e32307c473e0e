import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { fault, ok, warn, worst, type Subject, type Verdict } from "./check.ts";

const MEBIBYTE = 1_048_576;
/** A turn's own files take a few MiB, its temporary ones 5; below this it may not even tell how it ended. */
const LEAST = { bytes: 50 * MEBIBYTE, inodes: 500 };
const LITTLE = { bytes: 500 * MEBIBYTE, inodes: 10_000 };
/** A minute for clocks of hosts that share a volume. */
const TOLERANCE_MS = 60_000;
const MAX_SESSIONS = 1_000;

export async function checkDisk({ stateDirectory, home }: Subject): Promise<Verdict> {
  const [first, ...rest] = await Promise.all([stateDirectory, home, "/tmp"].map(look));
  if (first === undefined) throw new Error("no directory was looked at");
  return worst([first, ...rest]);
}

async function look(path: string): Promise<Verdict> {
  const found = await statfs(path).catch(() => undefined);
  if (found === undefined) return ok(`${path} does not exist yet`);
  return judgeDisk(path, {
    bytes: found.bavail * found.bsize,
    // Some file systems have no fixed number of them, and say 0.
    inodes: found.files === 0 ? Infinity : found.ffree,
  });
}

/** @param free - what is left for turnd's user */
export function judgeDisk(path: string, free: { readonly bytes: number; readonly inodes: number }): Verdict {
  const inodes = free.inodes === Infinity ? "" : ` and ${free.inodes} inodes`;
  const message = `${path} has ${Math.floor(free.bytes / MEBIBYTE)} MiB${inodes} free`;
  const remedy =
    "delete sessions that are not needed any more, by TURND_RETENTION_DAYS or TURND_RETENTION_BYTES too, or give it a larger volume";
  if (free.bytes < LEAST.bytes || free.inodes < LEAST.inodes) return fault(message, remedy);
  return free.bytes < LITTLE.bytes || free.inodes < LITTLE.inodes ? warn(message, remedy) : ok(message);
}

export async function checkClock({ now, keeperPath, stateDirectory }: Subject): Promise<Verdict> {
  const { mtime: made } = await stat(keeperPath);
  return judgeClock({ now, made, newest: await findNewest(join(stateDirectory, "sessions")) });
}

/** @param times - `made`: when the program was; `newest`: the latest change in the state */
export function judgeClock({ now, made, newest }: { now: Date; made: Date; newest: Date | undefined }): Verdict {
  const remedy = "set the clock of the host: events, timeouts and certificates go by it";
  if (now.getTime() + TOLERANCE_MS < made.getTime()) {
    return fault(`it is ${now.toISOString()}, before this program was made (${made.toISOString()})`, remedy);
  }
  if (newest !== undefined && newest.getTime() > now.getTime() + TOLERANCE_MS) {
    return warn(`it is ${now.toISOString()}, and the state was changed at ${newest.toISOString()}`, remedy);
  }
  return ok(`it is ${now.toISOString()}`);
}

async function findNewest(sessions: string): Promise<Date | undefined> {
  const ids = (await readdir(sessions).catch(() => [])).slice(0, MAX_SESSIONS);
  const times = await Promise.all(
    ids.flatMap((id) => [join(sessions, id), join(sessions, id, "turns")]).map(changedAt),
  );
  const newest = times.reduce((latest, time) => Math.max(latest, time), -Infinity);
  return newest === -Infinity ? undefined : new Date(newest);
}

async function changedAt(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => -Infinity, // Deleted meanwhile.
  );
}
