import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { z } from "zod";
import { type FilesQuery } from "../../../protocol/file-requests.ts";
import { ProblemError } from "../../../protocol/index.ts";
import type { FoundFile } from "../../files/file-service.ts";
import { namesEtag, readRange } from "../file-conditions.ts";

interface ReadRequest {
  readonly headers: IncomingHttpHeaders;
  readonly query: z.output<typeof FilesQuery>;
  readonly method: string;
}

/** A file of a workspace is data: no browser may take it for a page of turnd's. */
const AS_DATA = {
  "cache-control": "private, no-cache",
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; sandbox",
} as const;

/** Answers with what was found; closes it when all is sent, when the client has left, and when it reads nothing for too long. */
export async function sendFound(reply: FastifyReply, open: FoundFile, request: ReadRequest): Promise<FastifyReply> {
  let isSending = false;
  try {
    const body = await prepare(reply, open, request);
    if (!(body instanceof Readable)) return reply.send(body);
    isSending = true;
    body.once("close", () => void open.close());
    const { raw } = reply;
    // The end of the process that reads the file is noticed only by a client that takes its bytes.
    const giveUp = (): void => void raw.destroy();
    open.stalled.addEventListener("abort", giveUp, { once: true });
    if (open.stalled.aborted) giveUp();
    // For what waits in the connection when the process has read all of it.
    raw.setTimeout(open.stallMs, giveUp);
    return reply.send(body);
  } finally {
    if (!isSending) await open.close();
  }
}

async function prepare(reply: FastifyReply, open: FoundFile, { headers, query, method }: ReadRequest) {
  const { entry } = open;
  const isHead = method === "HEAD";
  void reply.headers(AS_DATA).header("last-modified", new Date(entry.modified_at).toUTCString());
  if (entry.type === "directory" && query.archive === "zip") {
    void reply.type("application/zip").header("content-disposition", attachment(`${entry.name || "workspace"}.zip`));
    return isHead ? undefined : open.zip();
  }
  if (query.archive !== undefined)
    throw new ProblemError("file_type_mismatch", "only a directory can be sent as a zip");
  if (entry.type === "directory") {
    void reply.type("application/json; charset=utf-8");
    const after = query.after === undefined ? {} : { after: query.after };
    return isHead ? undefined : open.list({ limit: query.limit, ...after });
  }
  if (entry.type !== "file" || entry.etag === undefined) {
    const what = entry.type === "link" ? "a link, which is not followed" : "no file: it is never opened";
    throw new ProblemError("file_type_mismatch", `at this path there is ${what}`);
  }
  void reply.header("etag", entry.etag).header("accept-ranges", "bytes");
  const { "if-match": match, "if-none-match": noneMatch, "if-range": ifRange } = headers;
  if (match !== undefined && !namesEtag(match, entry.etag, { isWeak: false })) {
    throw new ProblemError("precondition_failed", "the file is no longer the one that If-Match names");
  }
  if (noneMatch !== undefined && namesEtag(noneMatch, entry.etag, { isWeak: true })) {
    void reply.code(304);
    return undefined;
  }
  const size = entry.size_bytes;
  // A range has no meaning but for GET. @see RFC 9110 §14.2
  const asksForPart = !isHead && headers.range !== undefined && (ifRange === undefined || ifRange === entry.etag);
  if (asksForPart) void reply.header("content-range", `bytes */${size}`);
  const range = asksForPart ? readRange(headers.range, size) : undefined;
  void reply.removeHeader("content-range");
  const { first, length } = range ?? { first: 0, length: size };
  void reply
    .type("application/octet-stream")
    .header("content-length", length)
    .header("content-disposition", attachment(entry.name));
  if (range !== undefined) {
    void reply.code(206).header("content-range", `bytes ${first}-${first + length - 1}/${size}`);
  }
  return isHead ? undefined : Readable.from(open.read(first, length), { highWaterMark: 1 });
}

/** A name that any header takes, and the whole one beside it. @see RFC 6266 */
function attachment(name: string): string {
  const plain = name.replace(/[^\w.-]/g, "_");
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
