import { readdirSync, readFileSync } from "node:fs";

/** One process, from /proc. `startTime` is in clock ticks since boot. @see proc(5) */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  readonly command: string;
  readonly state: string;
  /** Its session, of which its leader is the process of that id. */
  readonly sessionId: number;
  readonly startTime: number;
}

/** Every process of the system. One scan proves nothing about what is forked while it runs. */
export function listProcesses(): ProcessEntry[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)) ?? []);
}

/** One process; undefined when it is gone. */
export function readProcess(pid: number): ProcessEntry | undefined {
  const stat = readProcFile(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The command stands in parentheses and may itself hold parentheses and spaces.
  const open = stat.indexOf("(");
  const close = stat.lastIndexOf(")");
  const fields = stat.slice(close + 2).split(" ");
  return {
    pid,
    command: stat.slice(open + 1, close),
    state: fields[0] ?? "?",
    parentPid: Number(fields[1]),
    sessionId: Number(fields[3]),
    startTime: Number(fields[19]),
  };
}

/** The arguments of a process as one text, or the title it has given itself; undefined when it is gone. */
export function readArguments(pid: number): string | undefined {
  return readProcFile(`/proc/${pid}/cmdline`)?.replaceAll("\0", " ");
}

/** Whether a process exists and still runs; a zombie does not. */
export function isRunning(entry: ProcessEntry | undefined): boolean {
  return entry !== undefined && entry.state !== "Z" && entry.state !== "X";
}

/**
 * The children of a process, dead but unreaped ones too, from the kernel's own list.
 *
 * Far faster than a scan of all of /proc: a process that starts itself again outruns such a scan.
 * @returns empty when the process is gone; undefined where the kernel keeps no such list
 */
export function childrenOf(pid: number): number[] | undefined {
  let threads: string[];
  try {
    threads = readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // It has ended.
  }
  const lists = threads.map((thread) => readProcFile(`/proc/${pid}/task/${thread}/children`));
  if (lists.every((list) => list === undefined) && !HAS_CHILD_LISTS) return undefined;
  return lists.flatMap((list) => list?.split(" ").filter(Boolean).map(Number) ?? []);
}

/** CONFIG_PROC_CHILDREN: on in the kernels of the common distributions, but still an option. */
const HAS_CHILD_LISTS = readProcFile(`/proc/self/task/${process.pid}/children`) !== undefined;

/** The children of a process by a scan of all of /proc, where the kernel keeps no list. */
export function scanForChildren(pid: number): number[] {
  return listProcesses().flatMap((entry) => (entry.parentPid === pid ? [entry.pid] : []));
}

/**
 * Processes whose environment holds `name=value`: what is left when a keeper was killed and its tree has no root.
 *
 * Youngest first and one at a time, so that each can be stopped before it can start the next.
 */
export function* findMarked(name: string, value: string): Generator<number> {
  const marker = `${name}=${value}`;
  const pids = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  for (const pid of pids.map(Number).toSorted((a, b) => b - a)) {
    if (readProcFile(`/proc/${pid}/environ`)?.split("\0").includes(marker)) yield pid;
  }
}

function readProcFile(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // The process ended between the listing and this read, or turnd may not read it.
    return undefined;
  }
}
