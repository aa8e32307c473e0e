import { readdir, readFile, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { readScriptedUrl, scriptedEnv } from "../src/turnd/commands/scripted-provider.ts";
import { EXECUTORS } from "../src/turnd/daemon/executors/registry.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** A turnd that runs on a state directory. */
export interface RunningTurnd {
  readonly pid: number;
  /** What it was started with; undefined where this user may not read that. */
  readonly env: Env | undefined;
}

/**
 * Finds the turnd that holds a state directory.
 *
 * The lock's file names it, but that process may have ended long ago: it counts only while it has the file open.
 * @param state - the state directory
 */
export async function findRunningTurnd(state: string): Promise<RunningTurnd | undefined> {
  const lock = join(state, "lock");
  const [, holder] = /^pid (\d+)$/m.exec(await readFile(lock, "utf8").catch(() => "")) ?? [];
  if (holder === undefined) return undefined;
  const pid = Number(holder);
  try {
    if (!(await hasOpen(pid, await realpath(lock)))) return undefined;
    const env: Env = Object.fromEntries(listOf(await readFile(`/proc/${pid}/environ`, "utf8")).map(toVariable));
    const isScripted = listOf(await readFile(`/proc/${pid}/cmdline`, "utf8")).includes("--scripted");
    const url = isScripted ? await readScriptedUrl(state) : undefined;
    return { pid, env: url === undefined ? env : scriptedEnv(env, EXECUTORS, url) };
  } catch (error) {
    // It has just ended, or is another user's.
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    if (code === "EACCES" || code === "EPERM") return { pid, env: undefined };
    throw error;
  }
}

async function hasOpen(pid: number, path: string): Promise<boolean> {
  const directory = `/proc/${pid}/fd`;
  const targets = await Promise.all(
    (await readdir(directory)).map((fd) => readlink(join(directory, fd)).catch(() => undefined)),
  );
  return targets.includes(path);
}

function toVariable(entry: string): [name: string, value: string] {
  const end = entry.indexOf("=");
  return end === -1 ? [entry, ""] : [entry.slice(0, end), entry.slice(end + 1)];
}

/** The strings of a file of /proc, each of which ends with a zero byte. */
function listOf(text: string): string[] {
  return text.split("\0").filter((entry) => entry !== "");
}
