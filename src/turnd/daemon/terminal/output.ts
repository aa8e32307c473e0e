import { ProblemError } from "../../protocol/index.ts";
import { wholeCharacters } from "./ring.ts";
import type { OutputOptions, OutputSlice } from "./terminal-service.ts";
import type { Shell } from "./shell.ts";

/**
 * Reads the output of a shell so far, from an offset on.
 *
 * @throws {ProblemError} cursor_beyond_end
 */
export function readOutput(shell: Shell, wanted: number, { isText, maxBytes }: OutputOptions): OutputSlice {
  const { output } = shell;
  if (wanted > output.next()) {
    const message = `the offset ${wanted} is beyond the end of the output, ${output.next()}`;
    throw new ProblemError("cursor_beyond_end", message, { next_offset: output.next() });
  }
  const isTruncated = wanted < output.first();
  const offset = isTruncated ? output.start() : wanted;
  const exit = shell.exit();
  const read = output.read(offset, maxBytes ?? Number.MAX_SAFE_INTEGER);
  const seen = offset + read.length;
  const reachesEnd = seen === output.next();
  // An incomplete character is left for the next slice, unless there is nothing else.
  const bytes = isText && !(reachesEnd && exit !== undefined) ? read.subarray(0, wholeCharacters(read)) : read;
  return { offset, bytes, seen, isTruncated, ...(reachesEnd && exit !== undefined ? { exit } : {}) };
}

/** Reads a shell's output to its end. The reader counts as a viewer, but the shell does not wait for it. */
export async function* followOutput(
  shell: Shell,
  from: number,
  options: OutputOptions & { readonly signal: AbortSignal },
): AsyncGenerator<OutputSlice> {
  const leave = shell.watch({ position: () => Infinity, resized: () => {} });
  try {
    for (let offset = from; !options.signal.aborted;) {
      const slice = readOutput(shell, offset, options);
      if (slice.bytes.length > 0 || slice.exit !== undefined) yield slice;
      if (slice.exit !== undefined) return;
      offset = slice.offset + slice.bytes.length;
      // Part of a character is output too, but cannot be given yet.
      await shell.grown(slice.bytes.length > 0 ? offset : slice.seen, options.signal);
    }
  } finally {
    leave();
  }
}
