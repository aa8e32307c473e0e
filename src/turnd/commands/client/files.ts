import { once } from "node:events";
import { createReadStream, type Stats } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { basename } from "node:path";
import { watchForStall } from "../../client/file-content.ts";
import { chunksOf, type Incoming } from "../../client/transport.ts";
import { formatBytes, safeText, table } from "../../../kit/command-line/text.ts";
import type { Context } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { usageFailure } from "./failure.ts";
import { readWanted, type WantedOptions } from "./read-wanted.ts";

/** Longest wait for the next byte of a file. */
const STALL_MS = 120_000;

/** `turnd files list`: what a directory of a session's workspace has. */
export async function listFiles(
  context: Context,
  { sessionId, path }: { readonly sessionId: string; readonly path: string | undefined },
  options: WantedOptions,
): Promise<ExitCode> {
  const { client, signal } = context;
  const directory = belowWorkspace(path ?? "");
  const entries = await readWanted(options, (limit) => client.eachFile(sessionId, directory, { limit, signal }));
  if (context.isJson) for (const entry of entries) await context.printJson(entry);
  else if (context.isQuiet) for (const { name } of entries) await context.printAnswer(name);
  else if (entries.length === 0) context.terminal.notice("turnd: there is nothing in it");
  else {
    const rows = entries.map(({ name, type, size_bytes: size, modified_at: modified, mode, target }) => [
      type,
      mode,
      type === "file" ? formatBytes(size) : "",
      modified,
      target === undefined ? name : `${name} -> ${target}`,
    ]);
    await context.print(`${table(["TYPE", "MODE", "SIZE", "MODIFIED", "NAME"], rows)}\n`);
  }
  return EXIT.done;
}

export interface GetFileOptions {
  readonly zip?: boolean;
}

/** `turnd files get`: writes a file of the workspace here, or on stdout; a directory as a zip. */
export async function getFile(
  context: Context,
  { sessionId, path, to }: { readonly sessionId: string; readonly path: string; readonly to: string },
  { zip }: GetFileOptions,
): Promise<ExitCode> {
  const { client } = context;
  const file = belowWorkspace(path);
  const watch = watchForStall(`turnd files get ${path}`, STALL_MS);
  const options = { signal: AbortSignal.any([context.signal, watch.signal]) };
  try {
    const found =
      zip === true
        ? await client.readArchive(sessionId, file, options)
        : await client.readFile(sessionId, file, options);
    if (found.headers.get("content-type")?.startsWith("application/json") === true) {
      throw usageFailure(`${path} is a directory: list it, or get it with --zip`);
    }
    const sizeBytes = await (to === "-"
      ? printBytes(context, found.body, watch.moved)
      : saveBytes(to, found.body, watch.moved));
    if (to === "-") return EXIT.done;
    if (context.isJson) await context.printJson({ path, file: to, size_bytes: sizeBytes });
    else if (!context.isQuiet)
      await context.print(safeText(`${path} is written to ${to}, ${formatBytes(sizeBytes)}\n`));
    return EXIT.done;
  } catch (error) {
    // The body's reader sees only that it was ended.
    context.signal.throwIfAborted();
    watch.signal.throwIfAborted();
    throw error;
  } finally {
    watch.stop();
  }
}

export interface PutFileOptions {
  readonly new?: boolean;
}

/** `turnd files put`: writes a local file, or standard input, into the workspace. A file that can be run stays one. */
export async function putFile(
  context: Context,
  { sessionId, from, path }: { readonly sessionId: string; readonly from: string; readonly path: string | undefined },
  options: PutFileOptions,
): Promise<ExitCode> {
  const { client, signal, stdin } = context;
  const found = from === "-" ? undefined : await stat(from);
  if (found?.isDirectory() === true) throw usageFailure(`${from} is a directory: put its files one by one`);
  const target = targetOf(from, path);
  const source = found === undefined ? stdin : createReadStream(from, { signal });
  try {
    const entry = await client.writeFile(sessionId, target, source, {
      signal,
      ...(options.new === true ? { isNew: true } : {}),
      ...(isExecutable(found) ? { isExecutable: true } : {}),
    });
    if (context.isJson) await context.printJson(entry);
    else if (!context.isQuiet) {
      await context.print(safeText(`${entry.name} is written, ${formatBytes(entry.size_bytes)}\n`));
    }
    return EXIT.done;
  } finally {
    source.destroy();
  }
}

/** `turnd files delete`: a file, a link, or with `recursive` a directory and all below it. */
export async function deleteFile(
  context: Context,
  { sessionId, path }: { readonly sessionId: string; readonly path: string },
  { recursive }: { readonly recursive?: boolean },
): Promise<ExitCode> {
  const file = belowWorkspace(path);
  if (file === "") throw usageFailure("the workspace itself is not deleted: name what is in it");
  const isRecursive = recursive === true;
  await context.client.removeFile(sessionId, file, { isRecursive, signal: context.signal });
  if (!context.isJson && !context.isQuiet) await context.print(safeText(`${path} is deleted\n`));
  return EXIT.done;
}

/** A path in turnd's form; `./` and `.` are accepted. @throws {ClientFailure} usage */
function belowWorkspace(path: string): string {
  const file = path.replace(/^(?:\.\/+)+/, "").replace(/^\.$/, "");
  if (/^\/|(?:^|\/)\.{1,2}(?:\/|$)/.test(file)) {
    throw usageFailure(`${JSON.stringify(path)} is no path below the session's workspace, such as src/main.ts`);
  }
  return file;
}

function targetOf(from: string, path: string | undefined): string {
  if (path === undefined && from === "-") throw usageFailure("name the file that standard input is written to");
  const given = belowWorkspace(path ?? "");
  return given === "" || given.endsWith("/") ? `${given}${basename(from)}` : given;
}

function isExecutable(found: Stats | undefined): boolean {
  return found !== undefined && (found.mode & 0o100) !== 0;
}

/** Bytes unchanged for a pipe or a file, harmless text for a terminal. */
async function printBytes({ stdout }: Context, body: Incoming["body"], onMove: () => void): Promise<number> {
  const decoder = new TextDecoder();
  let sizeBytes = 0;
  for await (const chunk of chunksOf(body)) {
    onMove();
    sizeBytes += chunk.length;
    const isTaken = stdout.write(stdout.isTTY ? safeText(decoder.decode(chunk, { stream: true })) : chunk);
    if (!isTaken) await once(stdout, "drain");
    onMove();
  }
  return sizeBytes;
}

/** Replaces the file when all bytes have come; otherwise leaves nothing. */
async function saveBytes(to: string, body: Incoming["body"], onMove: () => void): Promise<number> {
  const part = `${to}.${process.pid}.part`;
  const file = await open(part, "wx");
  try {
    let sizeBytes = 0;
    try {
      for await (const chunk of chunksOf(body)) {
        onMove();
        await file.writeFile(chunk);
        sizeBytes += chunk.length;
      }
    } finally {
      await file.close();
    }
    await rename(part, to);
    return sizeBytes;
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}
