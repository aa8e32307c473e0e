import { setTimeout as delay } from "node:timers/promises";
import {
  descendantsOf,
  findMarked,
  isRunning,
  listProcesses,
  readProcess,
  type ProcessEntry,
} from "./process-table.ts";
import type { Started } from "./keeper.ts";

/** The environment variable that marks every process of a turn. */
export const TURN_MARKER = "TURND_TURN_ID";

/** A turn's processes: the keeper, the CLI under it, and everything that came of it. */
export interface ProcessTree {
  readonly started: Started;
  /** Value of `TURND_TURN_ID` in the environment of the turn's processes. */
  readonly marker: string;
}

/** One process that was ended, and the last signal it was sent. */
export interface EndedProcess {
  readonly pid: number;
  readonly command: string;
  readonly signal: string;
}

const SWEEP_DEADLINE_MS = 10_000;

/** Something of a turn would not die within the deadline: stuck in the kernel, most likely. */
export class SweepError extends Error {
  constructor(survivors: readonly ProcessEntry[]) {
    super(`processes did not end: ${survivors.map((entry) => `${entry.pid} (${entry.command})`).join(", ")}`);
    this.name = "SweepError";
  }
}

/**
 * Asks the CLI to stop, then ends everything it started (law 6).
 *
 * @param signals - sent to the CLI in order, each followed by the grace time
 * @param graceMs - milliseconds; 0 goes straight to SIGKILL
 * @returns what was ended; the keeper lives on, so that the exit status is written
 */
export async function stopTree(
  tree: ProcessTree,
  signals: readonly ("SIGINT" | "SIGTERM")[],
  graceMs: number,
): Promise<EndedProcess[]> {
  const ended = new Map<number, EndedProcess>();
  for (const name of graceMs === 0 ? [] : signals) {
    const cli = findRunning(tree.started.pid, tree.started.pidStart);
    if (cli === undefined) break;
    signal(cli.pid, name);
    ended.set(cli.pid, { pid: cli.pid, command: cli.command, signal: name });
    if (await waitUntilGone(tree.started, graceMs)) break;
  }
  for (const entry of await sweepTree(tree)) ended.set(entry.pid, entry);
  return [...ended.values()];
}

/**
 * Ends whatever is left of a turn but its keeper.
 *
 * Stops what it finds until a scan finds nothing new, then kills; a process that forks faster than one scan is frozen
 * by the next. Done when two scans in a row find nothing.
 * @throws {SweepError} if something survives the deadline
 */
export async function sweepTree(tree: ProcessTree): Promise<EndedProcess[]> {
  const ended = new Map<number, EndedProcess>();
  const deadline = Date.now() + SWEEP_DEADLINE_MS;
  for (let emptyScans = 0; emptyScans < 2;) {
    const found = freeze(tree);
    emptyScans = found.length === 0 ? emptyScans + 1 : 0;
    for (const entry of found) {
      signal(entry.pid, "SIGKILL");
      ended.set(entry.pid, { pid: entry.pid, command: entry.command, signal: "SIGKILL" });
    }
    if (found.length > 0) await delay(2);
    if (Date.now() > deadline) throw new SweepError(found);
  }
  return [...ended.values()];
}

/** Ends the keeper itself; only after its tree is empty. */
export async function endKeeper(started: Started): Promise<void> {
  if (findRunning(started.keeperPid, started.keeperStart) === undefined) return;
  signal(started.keeperPid, "SIGKILL");
  while (findRunning(started.keeperPid, started.keeperStart) !== undefined) await delay(2);
}

/** Whether the CLI's own process runs. */
export function isCliRunning(started: Started): boolean {
  return findRunning(started.pid, started.pidStart) !== undefined;
}

/** A pid alone may have been given to another process since. */
function findRunning(pid: number, startTime: number): ProcessEntry | undefined {
  const entry = readProcess(pid);
  return entry !== undefined && isRunning(entry) && entry.startTime === startTime ? entry : undefined;
}

async function waitUntilGone(started: Started, graceMs: number): Promise<boolean> {
  const deadline = Date.now() + graceMs;
  while (isCliRunning(started)) {
    if (Date.now() >= deadline) return false;
    await delay(5);
  }
  return true;
}

function freeze(tree: ProcessTree): ProcessEntry[] {
  const frozen = new Map<number, ProcessEntry>();
  for (let hasNew = true; hasNew;) {
    hasNew = false;
    for (const entry of findTree(tree)) {
      if (frozen.has(entry.pid)) continue;
      frozen.set(entry.pid, entry);
      signal(entry.pid, "SIGSTOP");
      hasNew = true;
    }
  }
  return [...frozen.values()];
}

function findTree({ started, marker }: ProcessTree): ProcessEntry[] {
  const table = listProcesses();
  const isKept = findRunning(started.keeperPid, started.keeperStart) !== undefined;
  const roots = new Set(isKept ? [started.keeperPid] : []);
  const cli = findRunning(started.pid, started.pidStart);
  if (cli !== undefined) roots.add(cli.pid);
  const below = descendantsOf(roots, table).filter((entry) => entry.pid !== cli?.pid);
  // With a living subreaper nothing can leave the tree. Without one, the marker finds what did not empty its environment.
  const stray = isKept && started.isSubreaper ? [] : findMarked(TURN_MARKER, marker, table);
  return [...below, ...(cli === undefined ? [] : [cli]), ...stray].filter((entry) => entry.pid !== started.keeperPid);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // ESRCH: it ended by itself, which is what was wanted.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
