import type { IncomingMessage } from "node:http";

const FILES = /^(\/v1\/sessions\/[^/?]+\/files\/)([^?]+)(\?.*)?$/;
/** Stands in the routed URL for the path of a file. */
const PLACE = "-";

/**
 * Keeps the path of a file from being decoded on the way to its route: a name may be any bytes, and may hold `%2F`.
 * The route reads it from the URL as it was sent.
 */
export function hideFilePath({ url = "/" }: Pick<IncomingMessage, "url">): string {
  const [, before, , query = ""] = FILES.exec(url) ?? [];
  return before === undefined ? url : `${before}${PLACE}${query}`;
}

/** The path of a file, percent-encoded, of the URL as it was sent; empty for the workspace itself. */
export function readFilePath(originalUrl: string): string {
  return FILES.exec(originalUrl)?.[2] ?? "";
}
