import * as z from "zod";
import { FileEntry, FileList, type Tolerant } from "../protocol/index.ts";
import { eachItem } from "./each-item.ts";
import { toBody, watchForStall, type FileContent } from "./file-content.ts";
import { exchange, read, readAnswer, refusal, within, type Call, type Endpoint } from "./exchange.ts";
import { sessionPath, turnPath } from "./paths.ts";
import { chunksOf, type Incoming } from "./transport.ts";

/** A path below a session's workspace, such as `data/in.csv`, or an entry of a list, whatever bytes its name has. */
export type FileAt = string | Pick<FileEntry, "path">;

interface FileCallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface FileWriteOptions extends FileCallOptions {
  /** Only this version is replaced. */
  readonly ifMatch?: string | undefined;
  /** Nothing is replaced. */
  readonly isNew?: boolean | undefined;
  readonly isExecutable?: boolean | undefined;
}

/** What a turn changed. */
export interface TurnPatch {
  /** For people: of a file that is not UTF-8 it has U+FFFD. */
  readonly patch: string;
  /** For `git apply`, as git has written them. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** It is cut off, and cannot be applied. */
  readonly isTruncated: boolean;
  /** What it says nothing of, such as a file that git could not convert, and why. */
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
}

const LeftOut = z.array(z.object({ path: z.string(), reason: z.string() }));

/** Files of sessions' workspaces, and what turns changed in them. Each call is tried once. */
export interface FilesClient {
  /** A page of a directory; `""` is the workspace. */
  listFiles(
    sessionId: string,
    directory: FileAt,
    options?: FileCallOptions & { readonly limit?: number; readonly after?: string | undefined },
  ): Promise<Tolerant<FileList>>;
  /** Every entry of a directory, page by page as the caller iterates; a page has `limit`. */
  eachFile(
    sessionId: string,
    directory: FileAt,
    options?: FileCallOptions & { readonly limit?: number },
  ): AsyncIterable<Tolerant<FileEntry>>;
  /** Its body is the file's bytes, still to be read; the signal ends it. @param options.range - such as `bytes=0-1023` */
  readFile(
    sessionId: string,
    file: FileAt,
    options?: FileCallOptions & { readonly range?: string | undefined },
  ): Promise<Incoming>;
  /** A directory with all below it, as the bytes of a zip; `""` is the workspace. Links are left out. */
  readArchive(sessionId: string, directory: FileAt, options?: FileCallOptions): Promise<Incoming>;
  /**
   * Writes a file as a whole, and makes its parents. A stream is sent as it comes and ended where the write fails; it is thrown
   * what the stream fails with, and then nothing is written. Browsers that send no streams over HTTP/1.1 take a `Blob`.
   */
  writeFile(
    sessionId: string,
    file: FileAt,
    content: FileContent,
    options?: FileWriteOptions,
  ): Promise<Tolerant<FileEntry>>;
  removeFile(
    sessionId: string,
    file: FileAt,
    options?: FileCallOptions & { readonly isRecursive?: boolean },
  ): Promise<void>;
  /** What a turn with `diff: true` changed. */
  diff(turnId: string, options?: FileCallOptions): Promise<TurnPatch>;
}

/** Longest wait for an answer about a file, and for a stream to move. */
const TIMEOUT_MS = 600_000;
/** The slowest connection that a large content is given time for: 64 bytes a millisecond. */
const SLOWEST_BYTES_PER_MS = 64;
/** The longest that a timer can wait; an upload is watched in another way. */
const LONGEST_MS = 2 ** 31 - 1;

export function createFilesClient(endpoint: Endpoint): FilesClient {
  async function once(call: Omit<Call, "timeoutMs"> & { readonly timeoutMs?: number }) {
    const answer = await exchange(endpoint, { timeoutMs: TIMEOUT_MS, ...call });
    if (answer.status < 200 || answer.status > 299) throw refusal(answer, call);
    return answer;
  }
  function open<T>(call: Omit<Call, "timeoutMs" | "method">, take: (incoming: Incoming) => Promise<T>): Promise<T> {
    const asked = { ...call, method: "GET", timeoutMs: TIMEOUT_MS } as const;
    return within(endpoint, asked, async (incoming) => {
      if (incoming.status >= 200 && incoming.status <= 299) return take(incoming);
      throw refusal(readAnswer(incoming, await incoming.text(), asked), asked);
    });
  }
  const files: FilesClient = {
    async listFiles(sessionId, directory, { limit, after, signal } = {}) {
      const query = new URLSearchParams({
        ...(limit === undefined ? {} : { limit: String(limit) }),
        ...(after === undefined ? {} : { after }),
      }).toString();
      const path = `${pathOf(sessionId, directory)}${query === "" ? "" : `?${query}`}`;
      const call = { method: "GET", path, signal } as const;
      return read(FileList, await once(call), call);
    },
    eachFile: (sessionId, directory, options) =>
      eachItem(async (after) => {
        const { entries: items, next_after: next } = await files.listFiles(sessionId, directory, { ...options, after });
        return { items, next };
      }),
    readFile: (sessionId, file, { range, signal } = {}) =>
      open(
        { path: pathOf(sessionId, file), ...(range === undefined ? {} : { headers: { range } }), signal },
        async (incoming) => incoming,
      ),
    readArchive: (sessionId, directory, { signal } = {}) =>
      open({ path: `${pathOf(sessionId, directory)}?archive=zip`, signal }, async (incoming) => incoming),
    async writeFile(sessionId, file, content, { ifMatch, isNew, isExecutable, signal } = {}) {
      const path = `${pathOf(sessionId, file)}${isExecutable === true ? "?executable=true" : ""}`;
      const headers = {
        ...(ifMatch === undefined ? {} : { "if-match": ifMatch }),
        ...(isNew === true ? { "if-none-match": "*" } : {}),
      };
      const watch = watchForStall(`turnd PUT ${path}`, timeoutOf(content));
      const body = toBody(content, watch.moved);
      const until = signal === undefined ? watch.signal : AbortSignal.any([signal, watch.signal]);
      const call = { method: "PUT", path, bytes: body.bytes, headers, signal: until, timeoutMs: LONGEST_MS } as const;
      try {
        return read(FileEntry, await once(call), call);
      } catch (error) {
        throw body.fault()?.error ?? error;
      } finally {
        watch.stop();
        body.release();
      }
    },
    async removeFile(sessionId, file, { isRecursive, signal } = {}) {
      const path = `${pathOf(sessionId, file)}${isRecursive === true ? "?recursive=true" : ""}`;
      await once({ method: "DELETE", path, signal });
    },
    diff(turnId, { signal } = {}) {
      const path = `${turnPath(turnId)}/diff`;
      return open({ path, signal }, async ({ status, headers, body }) => {
        const bytes = await readBytes(body);
        const named = decodeURIComponent(headers.get("x-turnd-left-out") ?? "[]");
        const leftOut = read(
          LeftOut,
          { status, body: JSON.parse(named), retryAfterMs: undefined },
          { method: "GET", path },
        );
        const patch = new TextDecoder().decode(bytes);
        return { patch, bytes, isTruncated: headers.get("x-turnd-truncated") === "true", leftOut };
      });
    },
  };
  return files;
}

async function readBytes(body: Incoming["body"]): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of chunksOf(body)) chunks.push(new Uint8Array(chunk));
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

/** How long a write may take that shows no progress, as one that the platform sends by itself. */
function timeoutOf(content: FileContent): number {
  return Math.min(LONGEST_MS, TIMEOUT_MS + sizeOf(content) / SLOWEST_BYTES_PER_MS);
}

function sizeOf(content: FileContent): number {
  if (typeof content === "string") return content.length;
  if (content instanceof Uint8Array) return content.byteLength;
  return content instanceof Blob ? content.size : 0;
}

function pathOf(sessionId: string, file: FileAt): string {
  const encoded = typeof file === "string" ? file.split("/").map(encodeURIComponent).join("/") : file.path;
  // A URL would be read without these parts.
  if (/(^|\/)(\.|%2e){1,2}(\/|$)/i.test(encoded)) throw new TypeError("`.` and `..` name no file of a workspace");
  return `${sessionPath(sessionId)}/files/${encoded}`;
}
