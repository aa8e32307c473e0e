import type { Writable } from "node:stream";
import { shownOn } from "../../kit/command-line/text.ts";

/**
 * Writes foreign text without effect on a terminal. Resolves when the stream has accepted the bytes: their memory is used
 * again.
 *
 * @param options - `isPrintable`: it is so already, and has colours of its own
 */
export function write(
  out: Writable,
  text: string | Buffer,
  { isPrintable = false }: { readonly isPrintable?: boolean } = {},
): Promise<void> {
  const isTerminal = !isPrintable && "isTTY" in out && out.isTTY === true;
  return new Promise((resolve, reject) => {
    out.write(isTerminal ? shownOn(out, text.toString()) : text, (error) => (error ? reject(error) : resolve()));
  });
}

/** Whether the reader of the output has gone, such as `head`; no fault. */
export function isReaderGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EPIPE";
}
