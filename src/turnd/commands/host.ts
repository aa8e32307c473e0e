import { assertExecutors } from "../daemon/executors/contract/assert-executors.ts";
import type { Executor } from "../daemon/executors/contract/executor.ts";
import type { Identity } from "../daemon/settings.ts";
import { describeFault } from "../daemon/storage/describe-fault.ts";
import { toPrintable } from "./printable.ts";
import { describeUselessVariables } from "./unknown-variables.ts";

/** 0 done, 1 a fault that the message names, 2 wrong arguments; a command's help names what else it ends with. */
export type ExitCode = number;

/** What a program that is turnd gives it: `main.ts` does, with the CLIs of the registry. */
export interface Host {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ends the process at once. */
  exit(code: number): never;
  /** `sandbox/`: the keeper, the helper. */
  readonly sandboxDirectory: string;
  /** The CLIs that are driven. Called once at most, by a command that needs them. */
  loadExecutors(): Promise<readonly Executor[]>;
  /**
   * Called when turnd listens; absent: nothing waits for it.
   *
   * @param url - where `/v1` and the page are
   */
  readonly onListening?: (url: string) => void;
  /** Called once there is more to do than to start and to answer probes, and maybe again; absent: nothing waits for it. */
  readonly onWork?: () => void;
  /** Why code is compiled anew and not taken from the disk; absent where it is taken, or that was not tried. */
  readonly whyNoCompiledCode?: string;
}

/** The CLIs that are driven. @throws for a registry that contradicts itself */
export async function loadExecutors(host: Host): Promise<readonly Executor[]> {
  const executors = await host.loadExecutors();
  assertExecutors(executors);
  return executors;
}

/** Names on stderr what looks like a variable of turnd's and is none. */
export function warnOfUnknownVariables({ env }: Host, executors: readonly Executor[]): void {
  for (const warning of describeUselessVariables(env, executors)) process.stderr.write(`turnd: warning: ${warning}\n`);
}

/** The user this process runs as. */
export function self(): Identity {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}

/** Runs a command that starts processes: a signal ends them, and then turnd. */
export async function untilStopped(run: (signal: AbortSignal) => Promise<ExitCode>): Promise<ExitCode> {
  const stopping = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stopping.abort(new Error(signal)));
  try {
    return await run(stopping.signal);
  } catch (error) {
    if (!stopping.signal.aborted) throw error;
    process.stderr.write("turnd: stopped; nothing was left behind\n");
    return 1;
  }
}

/** Reports an error that a person can fix in one line; any other is a bug and keeps its stack. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("syscall" in error && "path" in error && typeof error.path === "string")
    return toPrintable(`${error.path}: ${describeFault(error)}`);
  const isExpected = EXPECTED.has(error.name) || "syscall" in error;
  if (isExpected) return error.message.split("\n").map(toPrintable).join("\nturnd: ");
  return error.stack ?? error.message;
}

/** The exit code when a command has thrown. */
export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof Error && error.name === "HomeError" ? 3 : 1;
}

/** Errors that a person can fix, by name: only the command that throws one has loaded its class. */
const EXPECTED = new Set(["SettingsError", "LockedError", "HomeError", "RecordingError"]);
