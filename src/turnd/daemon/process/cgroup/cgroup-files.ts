import { chmodSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Limits of one group; 0 is none. */
export interface GroupLimits {
  /** Processes and threads. */
  readonly maxProcesses: number;
  /** Memory and swap together. */
  readonly memoryBytes: number;
}

/** How often a group has reached its limits. */
export interface GroupHits {
  /** Processes that the kernel killed for lack of memory. */
  readonly killed: number;
  /** Processes and threads that could not be started. */
  readonly refused: number;
}

/** A `pids.max` with which nothing more can be started. */
export const CLOSED = "0";

/**
 * Sets the limits of a group over its directories: in version 1 each hierarchy has its own. One that is set stays.
 * A closed group is opened again.
 *
 * @returns the files of limits that no directory has, which are then not enforced
 */
export function setLimits(directories: readonly string[], limits: GroupLimits): string[] {
  const setAnywhere = (name: string, limit: number | "max"): boolean =>
    directories.filter((directory) => limitTo(join(directory, name), limit)).length > 0;
  const missing: string[] = [];
  const hasProcesses = setAnywhere("pids.max", limits.maxProcesses === 0 ? "max" : limits.maxProcesses);
  if (limits.maxProcesses > 0 && !hasProcesses) missing.push("pids.max");
  if (limits.memoryBytes === 0) return missing;
  const isVersion2 = setAnywhere("memory.max", limits.memoryBytes);
  if (!isVersion2 && !setAnywhere("memory.limit_in_bytes", limits.memoryBytes)) missing.push("memory.max");
  // Exists only where the kernel counts swap; in version 1 it counts memory and swap together.
  setAnywhere("memory.swap.max", 0);
  setAnywhere("memory.memsw.limit_in_bytes", limits.memoryBytes);
  return missing;
}

/** Version 1 shows a number a little below 2^63 where there is no limit. */
const UNLIMITED = 2 ** 62;

/** @returns whether the file is there. It is never created: a group's file system has it or does not. */
function limitTo(path: string, limit: number | "max"): boolean {
  const text = readIfThere(path)?.trim();
  if (text === undefined) return false;
  if (text === "max" || text === CLOSED || Number(text) >= UNLIMITED) writeIfThere(path, String(limit));
  return true;
}

/** Reads how often the limits were reached; counts start when the group is made. */
export function readHits(directories: readonly string[]): GroupHits {
  const count = (name: string, field: RegExp): number =>
    Math.max(
      0,
      ...directories.map((directory) => Number(field.exec(readIfThere(join(directory, name)) ?? "")?.[1] ?? 0)),
    );
  const killed = /^oom_kill (\d+)$/m;
  return {
    killed: Math.max(count("memory.events", killed), count("memory.oom_control", killed)),
    refused: count("pids.events", /^max (\d+)$/m),
  };
}

/** Pids of the processes in a group, zombies left out; none where there is no such group. */
export function readMembers(directory: string): number[] {
  const pids = (readIfThere(join(directory, "cgroup.procs")) ?? "").split("\n").map(Number);
  // Processes outside turnd's own pid namespace are listed as 0.
  return pids.filter((pid) => pid > 0);
}

/** Names of the groups below one. */
export function listGroups(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry.name] : [],
    );
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

/** Makes a group, or uses an existing one. With `recursive`, a read-only file system would show as ENOENT. */
export function makeGroup(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o755 });
    // Whatever the umask: programs of the turn read their limits there.
    chmodSync(directory, 0o755);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
}

/** Removes a group. @returns whether it is gone; the kernel refuses while it holds a process or another group */
export function removeGroup(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch (error) {
    if (isAbsent(error)) return true;
    if (hasCode(error, "EBUSY", "ENOTEMPTY")) return false;
    throw error;
  }
}

/** Writes to a file of a group, where there is one. */
export function writeIfThere(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: "r+" });
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** A process that has a file of a group open when the group is removed gets ENODEV. */
function isAbsent(error: unknown): boolean {
  return hasCode(error, "ENOENT", "ENODEV");
}

/** Whether the system refused something with one of these codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
