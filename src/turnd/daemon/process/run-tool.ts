import type { Readable } from "node:stream";
import { startTimeLimit } from "./time-limit.ts";
import { startAsUser, type UserProcessOptions } from "./user-process.ts";

/** How a short task ended; output is cut at 64 KiB. */
export interface ToolResult {
  /** null when it was ended by a signal, by the timeout, or could not be started. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ToolOptions extends UserProcessOptions {
  readonly timeoutMs: number;
  readonly input?: string | Uint8Array;
  /** Ends the task, and what it has started, early. */
  readonly signal?: AbortSignal;
}

/** Wait after the end of all of it, for its last output: another process may have been handed its pipes, and hold them for ever. */
const LAST_OUTPUT_MS = 500;
const MAX_OUTPUT = 65_536;

/**
 * Runs a program as the CLIs' user and waits for it: as `runTask`. A tool of that user can trace the program, as its own
 * children; whatever comes of that ends with it. For programs that have to be run as they are, such as a CLI.
 */
export function runTool(command: readonly string[], options: ToolOptions): Promise<ToolResult> {
  return runTask(["run", ...command], options);
}

/**
 * Has a task of `sandbox/helper` done as the CLIs' user and waits for it. Does not throw for how it ends.
 *
 * Resolves when nothing of it is left; at the timeout, and when the signal aborts, it is ended with all of it.
 *
 * Everything that touches a session's home is done this way: a path in a directory that the CLIs' user owns may be a link
 * to anywhere, and as that user it leads only where the user may go anyway.
 * @throws the signal's reason, once it has aborted
 * @throws {ResourcesExhaustedError} if it could get no process: its answer is then neither yes nor no
 */
export async function runTask(task: readonly string[], options: ToolOptions): Promise<ToolResult> {
  options.signal?.throwIfAborted();
  const limit = startTimeLimit(options.timeoutMs, options.signal);
  try {
    const running = startAsUser(task, options);
    const outputs = [running.stdout, running.stderr].map(collect);
    const end = (): void => running.end();
    limit.signal.addEventListener("abort", end, { once: true });
    running.stdin.end(options.input);
    const code = await running.ended.finally(() => limit.signal.removeEventListener("abort", end));
    const letGo = setTimeout(
      () => [running.stdout, running.stderr].forEach((stream) => stream.destroy()),
      LAST_OUTPUT_MS,
    );
    const [stdout = "", stderr = ""] = await Promise.all(outputs).finally(() => clearTimeout(letGo));
    options.signal?.throwIfAborted();
    return { code: limit.signal.aborted ? null : code, stdout, stderr };
  } finally {
    limit.release();
  }
}

function collect(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on("data", (chunk: Buffer) => {
    if (bytes < MAX_OUTPUT) chunks.push(chunk.subarray(0, MAX_OUTPUT - bytes));
    bytes += chunk.length;
  });
  return new Promise((resolve) => {
    stream.once("close", () =>
      resolve(
        Buffer.concat(chunks)
          .toString("utf8")
          .replace(/\r?\n$/, ""),
      ),
    );
  });
}
