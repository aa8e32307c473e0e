import { execa } from "execa";
import { asUser, type RunAs } from "./run-as.ts";

/** How a short helper command ended; output is cut at 64 KiB. */
export interface ToolResult {
  /** null when it was ended by a signal, by the time-out, or could not be started. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ToolOptions {
  readonly runAs: RunAs;
  readonly timeoutMs: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string | Uint8Array;
  /** Ends the command. */
  readonly signal?: AbortSignal;
}

/**
 * Runs a short command as the CLIs' user and waits for it. Never throws for how the command ends.
 *
 * What touches a session's home runs this way: a path in a directory that the CLIs' user owns may be a link to
 * anywhere, and as that user it leads nowhere the user could not go anyway.
 */
export async function runTool(command: readonly string[], options: ToolOptions): Promise<ToolResult> {
  const [file = "", ...args] = asUser(options.runAs, command);
  const result = await execa(file, args, {
    reject: false,
    cleanup: false,
    extendEnv: false,
    env: options.env ?? {},
    cwd: options.cwd ?? "/",
    timeout: options.timeoutMs,
    killSignal: "SIGKILL",
    maxBuffer: 65_536,
    stripFinalNewline: true,
    ...(options.input === undefined ? { stdin: "ignore" as const } : { input: options.input }),
    ...(options.signal === undefined ? {} : { cancelSignal: options.signal }),
  });
  return { code: result.exitCode ?? null, stdout: result.stdout ?? "", stderr: result.stderr ?? "" };
}
