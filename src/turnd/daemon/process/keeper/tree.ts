import { setTimeout as delay } from "node:timers/promises";
import type { CommandGroup } from "../cgroup/cgroup.ts";
import { createKeeperDeadline, type KeeperDeadline } from "./keeper-deadline.ts";
import { childrenOf, findMarked, isRunning, readProcess, scanForChildren, type ProcessEntry } from "./process-table.ts";
import type { StartedProcess } from "./keeper.ts";

/** The environment variable that marks every process of a turn. */
export const TURN_MARKER = "TURND_TURN_ID";

/** A turn's processes, or a shell's: the keeper, the command under it, and every descendant. */
export interface ProcessTree {
  readonly started: StartedProcess;
  /** Value of the marking variable in the environment of its processes. */
  readonly marker: string;
  /** That variable, where it is not `TURND_TURN_ID`. */
  readonly markerName?: string;
  /** Its control group, where it has one: finds processes that no list of children leads to. */
  readonly group?: CommandGroup;
}

/** One process that was ended, and the last signal it was sent. */
export interface EndedProcess {
  readonly pid: number;
  readonly command: string;
  readonly signal: string;
}

/** A quarter of a second on a quiet machine; the rest is margin for a loaded one. */
const SWEEP_DEADLINE_MS = 30_000;
/** So many scans in a row must be empty before the keeper itself is ended. */
const LEAST_EMPTY_SCANS = 500;
/** Limit for a killed keeper to go: one that waits for a disk that does not answer cannot. */
const KEEPER_END_MS = 5_000;

/** A process of a turn did not end within the deadline; most likely it is blocked in the kernel. */
export class SweepError extends Error {
  constructor(survivors: readonly ProcessEntry[]) {
    super(`processes did not end: ${survivors.map((entry) => `${entry.pid} (${entry.command})`).join(", ")}`);
    this.name = "SweepError";
  }
}

/** How a CLI is asked to stop before it is killed. */
export interface Grace {
  /** Sent to the CLI in order; they share the time. */
  readonly signals: readonly ("SIGINT" | "SIGTERM")[];
  /** Milliseconds in all; 0 sends SIGKILL at once. */
  readonly graceMs: number;
  /** Ends that time early. */
  readonly over?: AbortSignal;
}

/**
 * Asks the CLI to stop, then ends everything it started. Law: nothing outlives its turn.
 *
 * @returns what was ended; the exit status is written by then
 */
export async function stopTree(tree: ProcessTree, { signals, graceMs, over }: Grace): Promise<EndedProcess[]> {
  const ended = new Map<number, EndedProcess>();
  for (const name of graceMs === 0 ? [] : signals) {
    if (over?.aborted === true) break;
    const cli = findRunning(tree.started.pid, tree.started.pidStart);
    if (cli === undefined) break;
    signal(cli.pid, name);
    ended.set(cli.pid, { pid: cli.pid, command: cli.command, signal: name });
    if (await waitUntilGone(tree.started, graceMs / signals.length, over)) break;
  }
  for (const entry of await sweepTree(tree)) ended.set(entry.pid, entry);
  return [...ended.values()];
}

/**
 * Ends whatever is left of a turn.
 *
 * Stops what it finds until a scan finds nothing new, then kills; a process that forks faster than one scan is stopped
 * by the next. An empty scan proves nothing: the sweep is over when the keeper has ended, which it does by itself when
 * the kernel reports that it has no child.
 * @throws {SweepError} if something survives the deadline
 */
export async function sweepTree(tree: ProcessTree): Promise<EndedProcess[]> {
  const ended = new Map<number, EndedProcess>();
  const deadline = Date.now() + SWEEP_DEADLINE_MS;
  for (let keeperDeadline: KeeperDeadline | undefined; ;) {
    const hadKeeper = isKeeperRunning(tree.started);
    // First: a group that can start nothing more is found in one scan, however fast its processes fork.
    tree.group?.close();
    const found = freeze(tree);
    for (const entry of found) {
      signal(entry.pid, "SIGKILL");
      ended.set(entry.pid, { pid: entry.pid, command: entry.command, signal: "SIGKILL" });
    }
    if (found.length === 0) {
      if (!hadKeeper) return [...ended.values()];
      keeperDeadline ??= createKeeperDeadline(tree.started.keeperPid, LEAST_EMPTY_SCANS);
      // The keeper has no tree and stays: nothing of the turn is left.
      if (keeperDeadline.isOver()) {
        await endKeeper(tree.started);
        return [...ended.values()];
      }
    } else {
      keeperDeadline = undefined;
      if (Date.now() > deadline) throw new SweepError(found);
    }
    await delay(2);
  }
}

/**
 * Waits until a tree has ended by itself, with its keeper, without sending a signal.
 *
 * @returns whether it has, within the limit
 */
export async function waitForTree(started: StartedProcess, limitMs: number): Promise<boolean> {
  const deadline = Date.now() + limitMs;
  while (isKeeperRunning(started)) {
    if (Date.now() >= deadline) return false;
    await delay(5);
  }
  return true;
}

/** Ends a keeper that does not end by itself; only after its tree is empty. */
async function endKeeper(started: StartedProcess): Promise<void> {
  const deadline = Date.now() + KEEPER_END_MS;
  for (let keeper = findKeeper(started); keeper !== undefined; keeper = findKeeper(started)) {
    signal(keeper.pid, "SIGKILL");
    if (Date.now() > deadline) throw new SweepError([keeper]);
    await delay(2);
  }
}

function isKeeperRunning(started: StartedProcess): boolean {
  return findKeeper(started) !== undefined;
}

function findKeeper(started: StartedProcess): ProcessEntry | undefined {
  return findRunning(started.keeperPid, started.keeperStart);
}

/** Whether the CLI's own process runs. */
export function isCliRunning(started: StartedProcess): boolean {
  return findRunning(started.pid, started.pidStart) !== undefined;
}

/** The pid alone may belong to another process by now. */
function findRunning(pid: number, startTime: number): ProcessEntry | undefined {
  const entry = readProcess(pid);
  return entry !== undefined && isRunning(entry) && entry.startTime === startTime ? entry : undefined;
}

async function waitUntilGone(
  started: StartedProcess,
  graceMs: number,
  over: AbortSignal | undefined,
): Promise<boolean> {
  const deadline = Date.now() + graceMs;
  while (isCliRunning(started)) {
    if (Date.now() >= deadline || over?.aborted === true) return false;
    await delay(5);
  }
  return true;
}

/**
 * Stops everything it can find of a tree, level by level, until a scan finds nothing new.
 *
 * The number of scans is limited: what outruns even these is found by the next round, when its parents are dead.
 */
function freeze(tree: ProcessTree): ProcessEntry[] {
  const frozen = new Map<number, ProcessEntry>();
  for (let looks = 0, hasNew = true; hasNew && looks < MAX_LOOKS; looks += 1) {
    hasNew = false;
    const level = new Set<number>();
    for (const root of rootsOf(tree)) {
      level.add(root);
      hasNew = stopNew(root) || hasNew;
    }
    for (const pid of level) {
      // A process that is stopped before its children are listed cannot have more of them.
      for (const child of childrenOf(pid) ?? scanForChildren(pid)) {
        level.add(child);
        hasNew = stopNew(child) || hasNew;
      }
    }
  }
  return [...frozen.values()];

  function stopNew(pid: number): boolean {
    if (frozen.has(pid) || pid === tree.started.keeperPid) return false;
    signal(pid, "SIGSTOP");
    const entry = readProcess(pid);
    if (entry === undefined || !isRunning(entry)) return false;
    frozen.set(pid, entry);
    return true;
  }
}

const MAX_LOOKS = 20;

/**
 * Where a scan begins: what is in the control group, the keeper, or without one the command and whatever still carries
 * the mark.
 */
function* rootsOf({ started, marker, markerName = TURN_MARKER, group }: ProcessTree): Generator<number> {
  if (group !== undefined) yield* group.members();
  const isKept = isKeeperRunning(started);
  if (isKept) yield started.keeperPid;
  if (isKept && started.isSubreaper) return;
  if (isCliRunning(started)) yield started.pid;
  yield* findMarked(markerName, marker);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // ESRCH: it has ended by itself.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
