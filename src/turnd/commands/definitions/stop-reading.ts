import { untilStopped, type ExitCode, type Host } from "../host.ts";
import { isReaderGone } from "../write.ts";

/**
 * Runs a command that reads what it is given and prints it: it ends at a signal, whatever it waits for, and quietly when
 * the reader of its output has gone.
 *
 * @param stoppedCode - what the process ends with after a signal
 */
export async function untilReadOrStopped(
  host: Host,
  run: (signal: AbortSignal) => Promise<ExitCode>,
  stoppedCode: ExitCode = 1,
): Promise<ExitCode> {
  // The write that fails gets the error too, and handles it.
  process.stdout.on("error", () => undefined);
  let isStopped = false;
  const code = await untilStopped(async (signal) => {
    try {
      return await run(signal);
    } catch (error) {
      if (isReaderGone(error)) return 0;
      isStopped = signal.aborted;
      throw error;
    }
  });
  // A pipe without a writer, or a standard input that never ends, would keep this process alive.
  return isStopped ? host.exit(stoppedCode) : code;
}
