import { execa } from "execa";
import { throwIfExhausted } from "./exhausted.ts";
import { childrenOf, scanForChildren } from "./keeper/process-table.ts";
import { asUser, type RunAs } from "./run-as.ts";
import { startTimeLimit } from "./time-limit.ts";

/** How a short helper command ended; output is cut at 64 KiB. */
export interface ToolResult {
  /** null when it was ended by a signal, by the timeout, or could not be started. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ToolOptions {
  readonly runAs: RunAs;
  readonly timeoutMs: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Entered by turnd itself: only a descriptor (`/proc/self/fd/…`) is safe here, where no link of that user can be. */
  readonly cwd?: string;
  readonly input?: string | Uint8Array;
  /** Ends the command, and what it has started, early. */
  readonly signal?: AbortSignal;
}

/**
 * Wait after a command has ended, for its last output: a process that left its group may hold its pipes open for ever.
 */
const LAST_OUTPUT_MS = 500;

/**
 * Runs a short command as the CLIs' user and waits for it. Does not throw for how the command ends.
 *
 * At the timeout, and when the signal aborts, it is killed with all its descendants; this resolves when the command is
 * gone. The rest of its process group ends with it in any case.
 *
 * Everything that touches a session's home runs this way: a path in a directory that the CLIs' user owns may be a link
 * to anywhere, and as that user it leads only where the user may go anyway.
 * @throws the signal's reason, once it has aborted
 * @throws {ResourcesExhaustedError} if it could get no process: its answer is then neither yes nor no
 */
export async function runTool(command: readonly string[], options: ToolOptions): Promise<ToolResult> {
  options.signal?.throwIfAborted();
  const [file = "", ...args] = asUser(options.runAs, command);
  const limit = startTimeLimit(options.timeoutMs, options.signal);
  try {
    return await runWithin(limit.signal, [file, ...args], options);
  } finally {
    limit.release();
  }
}

async function runWithin(
  limit: AbortSignal,
  [file, ...args]: readonly [string, ...string[]],
  options: ToolOptions,
): Promise<ToolResult> {
  const running = execa(file, args, {
    reject: false,
    cleanup: false,
    extendEnv: false,
    env: options.env ?? {},
    cwd: options.cwd ?? "/",
    cancelSignal: limit,
    killSignal: "SIGKILL",
    killDescendants: true,
    maxBuffer: 65_536,
    stripFinalNewline: true,
    ...(options.input === undefined ? { stdin: "ignore" as const } : { input: options.input }),
  });
  const { nodeChildProcess: child } = running;
  // Descendants outside the process group are killed here, the group itself by execa.
  const killBelow = (): void => killDescendants(child.pid);
  limit.addEventListener("abort", killBelow, { once: true });
  let letGo: NodeJS.Timeout | undefined;
  child.once("exit", () => {
    limit.removeEventListener("abort", killBelow);
    // The rest of its process group: the number of a group stays its own while it has a member.
    running.kill("SIGKILL");
    letGo = setTimeout(() => [running.stdout, running.stderr].forEach((stream) => stream?.destroy()), LAST_OUTPUT_MS);
  });
  const result = await running;
  clearTimeout(letGo);
  options.signal?.throwIfAborted();
  throwIfExhausted(result.code);
  return { code: result.exitCode ?? null, stdout: result.stdout ?? "", stderr: result.stderr ?? "" };
}

function killDescendants(root: number | undefined): void {
  const found = new Set<number>(root === undefined ? [] : [root]);
  // Iterating a set includes what is added to it meanwhile.
  for (const pid of found) for (const child of childrenOf(pid) ?? scanForChildren(pid)) found.add(child);
  for (const pid of found) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended by itself, or belongs to another user and ends with its group or not at all.
    }
  }
}
