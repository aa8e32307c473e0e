import {
  childrenOf,
  isRunning,
  readArguments,
  readProcess,
  scanForChildren,
  type ProcessEntry,
} from "./process-table.ts";
import type { StartedProcess } from "./keeper.ts";

/** Of every Linux: the unit of times in /proc. @see sysconf(3) */
const TICK_MS = 10;

/**
 * A process that the CLI started since, and that does a tool's work.
 *
 * Both CLIs give each shell tool a session of its own; what they keep beside themselves (MCP servers, git, and in 1.3.2 of
 * CLI A searches) stays in theirs (measured). What a tool left behind has lost its parent, and is none.
 *
 * @param sinceMs - milliseconds since 1970: an older one belongs to something that has ended
 */
export function findToolProcess(
  { pid, pidStart }: Pick<StartedProcess, "pid" | "pidStart">,
  sinceMs: number,
): ProcessEntry | undefined {
  const cli = readProcess(pid);
  if (cli === undefined || !isRunning(cli) || cli.startTime !== pidStart) return undefined;
  for (const child of childrenOf(pid) ?? scanForChildren(pid)) {
    const entry = readProcess(child);
    if (entry === undefined || !isRunning(entry) || entry.sessionId === cli.sessionId) continue;
    if (toTimeMs(entry.startTime) > sinceMs) return entry;
  }
  return undefined;
}

/** A command that a CLI runs now. */
export interface RunningCommand {
  readonly command: string;
  readonly runningMs: number;
}

/** The shell that a CLI puts around each command says nothing about it. */
const SHELL = /^\S*\b(?:ba|da|z)?sh -l?c /;

/** What a tool's process runs, as the system shows it. */
export function describeTool({ pid, command, startTime }: ProcessEntry): RunningCommand {
  // One byte a character.
  const args = Buffer.from(readArguments(pid) ?? "", "latin1")
    .toString("utf8")
    .trim()
    .replace(SHELL, "");
  return {
    command: args === "" ? command : args,
    runningMs: Math.max(0, Math.round(Date.now() - toTimeMs(startTime))),
  };
}

/** When a process was started, by this one's own start in both clocks: some containers have another uptime. */
function toTimeMs(startTime: number): number {
  const own = readProcess(process.pid);
  if (own === undefined) return Date.now();
  return Date.now() - process.uptime() * 1_000 + (startTime - own.startTime) * TICK_MS;
}
