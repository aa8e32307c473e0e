import { appendFileSync, closeSync, constants, ftruncateSync, openSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isOwnRecord } from "../../executors/contract/own-record.ts";
import { readSpan, type SpanFile } from "./span-file.ts";

/** What of a turn's own files an earlier turnd has written, and where the server's output goes on. */
export interface FoundSpan {
  readonly span: SpanFile;
  readonly lines: readonly string[];
  /** Of the server's files. */
  readonly from: { readonly stdout: number; readonly stderr: number };
}

/**
 * Looks at what an earlier turnd has copied of a server's output.
 *
 * A line that it did not finish is cut off: it is copied again, or was turnd's own and never sent.
 */
export async function findSpan(
  directory: string,
  serverDirectory: string,
  isAside: (line: string) => boolean,
): Promise<FoundSpan | undefined> {
  const span = await readSpan(directory);
  if (span === undefined) return undefined;
  const lines = cutToLines(join(directory, "stdout.jsonl"));
  const own = lines.filter(isOwnRecord).reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
  const copied = sizeOf(join(directory, "stdout.jsonl")) - own;
  const stdout = skipCopied(join(serverDirectory, "stdout.jsonl"), span.stdout[0] ?? 0, copied, isAside);
  const stderr = (span.stderr[0] ?? 0) + sizeOf(join(directory, "stderr.log"));
  return { span, lines, from: { stdout, stderr } };
}

function cutToLines(path: string): string[] {
  const bytes = readIfThere(path);
  const end = bytes.lastIndexOf(10) + 1;
  if (end < bytes.length) {
    const file = openSync(path, constants.O_RDWR);
    ftruncateSync(file, end);
    closeSync(file);
  }
  return end === 0
    ? []
    : bytes
        .subarray(0, end - 1)
        .toString("utf8")
        .split("\n");
}

/** Past as many bytes of the turn's lines as were copied, and past what stands between them that is no turn's. */
function skipCopied(path: string, start: number, copied: number, isAside: (line: string) => boolean): number {
  const bytes = readIfThere(path).subarray(start);
  let [at, left] = [0, copied];
  while (left > 0) {
    const end = bytes.indexOf(10, at) + 1;
    if (end === 0) break;
    const line = bytes.subarray(at, end - 1).toString("utf8");
    if (!isAside(line)) left -= end - at;
    at = end;
  }
  return start + at;
}

/** What a server printed that has ended while no turnd was there. */
export function copyRest(
  directory: string,
  serverDirectory: string,
  { from }: FoundSpan,
  isAside: (line: string) => boolean,
): void {
  const rest = readIfThere(join(serverDirectory, "stdout.jsonl")).subarray(from.stdout);
  const lines = rest.subarray(0, rest.lastIndexOf(10) + 1).toString("utf8");
  const own = lines.split("\n").filter((line) => line !== "" && !isAside(line));
  appendFileSync(join(directory, "stdout.jsonl"), own.map((line) => `${line}\n`).join(""), { mode: 0o600 });
  const errors = readIfThere(join(serverDirectory, "stderr.log")).subarray(from.stderr);
  appendFileSync(join(directory, "stderr.log"), errors, { mode: 0o600 });
}

function readIfThere(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
