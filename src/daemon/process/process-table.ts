import { readdirSync, readFileSync } from "node:fs";

/** One process as /proc tells of it. `startTime` is in clock ticks since boot. @see proc(5) */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  readonly command: string;
  readonly state: string;
  readonly startTime: number;
}

/** Every process there is. One scan proves nothing about what is forked while it runs. */
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
    startTime: Number(fields[19]),
  };
}

/** Whether a process exists and still runs; a zombie does not. */
export function isRunning(entry: ProcessEntry | undefined): boolean {
  return entry !== undefined && entry.state !== "Z" && entry.state !== "X";
}

/** The living descendants of any of the given processes, the processes themselves not included. */
export function descendantsOf(roots: ReadonlySet<number>, table: readonly ProcessEntry[]): ProcessEntry[] {
  const children = Map.groupBy(table, (entry) => entry.parentPid);
  const found: ProcessEntry[] = [];
  const queue = [...roots];
  const seen = new Set(roots);
  for (let pid = queue.shift(); pid !== undefined; pid = queue.shift()) {
    for (const child of children.get(pid) ?? []) {
      if (seen.has(child.pid)) continue;
      seen.add(child.pid);
      queue.push(child.pid);
      if (isRunning(child)) found.push(child);
    }
  }
  return found;
}

/** Processes whose environment holds `name=value`: what is left when a keeper was killed and its tree scattered. */
export function findMarked(name: string, value: string, table: readonly ProcessEntry[]): ProcessEntry[] {
  const marker = `${name}=${value}`;
  return table.filter(
    (entry) => isRunning(entry) && (readProcFile(`/proc/${entry.pid}/environ`)?.split("\0").includes(marker) ?? false),
  );
}

function readProcFile(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // The process ended between the listing and this read, or is not ours to look into.
    return undefined;
  }
}
