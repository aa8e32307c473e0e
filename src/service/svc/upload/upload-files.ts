import { basename } from "node:path";
import { Uploaded } from "../answers.ts";
import { type Client, readAnswer } from "../client.ts";
import { SvcError } from "../exit-codes.ts";
import { createProgressBar } from "../progress.ts";
import type { Terminal } from "../../../kit/command-line/terminal.ts";
import { formatBytes, safeLine } from "../../../kit/command-line/text.ts";
import { addRecords } from "./add-records.ts";
import type { Entry, Journal } from "./journal.ts";
import { fileForm } from "./multipart.ts";
import type { FoundFile, ScanResult, SkippedFile } from "./scan.ts";
import { settle, type Settled } from "./settle.ts";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";

/** What an upload came to, as `--json` prints it. */
export interface UploadSummary {
  readonly scanned: number;
  readonly skipped: readonly SkippedFile[];
  /** Files whose content the knowledge base has, from this upload or before it. */
  readonly already_there: number;
  readonly uploaded: number;
  readonly added: number;
  readonly failed: readonly FailedFile[];
  /** Of the files that were uploaded. */
  readonly bytes: number;
}

export interface FailedFile {
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

export interface UploadJob {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly journal: Journal;
  readonly kbId: string;
  readonly concurrency: number;
  readonly isDuplicateAllowed: boolean;
}

/** Records of one call. */
const BATCH = 50;
/** Silence of the service while a file is sent to it. */
const UPLOAD_MS = 60_000;

/** Uploads files and adds their records, each once, whatever an upload before was ended in. */
export async function uploadFiles(job: UploadJob, { files, skipped }: ScanResult): Promise<UploadSummary> {
  const { journal, signal, terminal } = job;
  const failed: FailedFile[] = [];
  const totals = { there: 0, uploaded: 0, added: 0, bytes: 0 };
  const progress = followProgress(terminal, files);
  const entries = files
    .flatMap(({ path }) => journal.entries.get(path) ?? [])
    // Content that is there is no reason to leave a copy out that is asked for.
    .filter(({ step }) => !job.isDuplicateAllowed || step !== "already_there");
  const settled = await settle(job, entries);
  const firsts = new Map<string, Promise<boolean>>();
  const ready: Entry[] = [];
  let adding: Promise<void> = Promise.resolve();
  let expired: string[] = [];

  function flush(least: number): Promise<void> {
    if (ready.length >= least && ready.length > 0) {
      const batch = ready.splice(0, BATCH);
      adding = addAfter(adding, batch);
    }
    return adding;
  }

  /** One batch after another. */
  async function addAfter(before: Promise<void>, batch: readonly Entry[]): Promise<void> {
    await before;
    const result = await addRecords(job, batch);
    totals.added += result.added.length;
    failed.push(...result.failed);
    expired.push(...result.expired);
  }

  async function take(file: FoundFile): Promise<void> {
    const known = settled.get(file.path);
    const isSame = known !== undefined && known.entry.size === file.size && known.entry.mtime_ms === file.mtimeMs;
    const sha256 = isSame ? known.entry.sha256 : await hashFile(file.absolute, signal);
    if (known?.entry.sha256 === sha256) return goOn(known);
    // Two files of one content in the directory: the second is there as soon as the first is.
    const first = job.isDuplicateAllowed ? undefined : firsts.get(sha256);
    if (first !== undefined && (await first)) return noteThere(file, sha256);
    const sending = send(file, sha256);
    firsts.set(
      sha256,
      sending.then(
        () => true,
        () => false,
      ),
    );
    return sending;
  }

  async function goOn(known: Settled): Promise<void> {
    firsts.set(known.entry.sha256, Promise.resolve(true));
    if (known.state === "added") {
      totals.there += 1;
      return;
    }
    ready.push({ ...known.entry, file_path: known.filePath });
    await flush(BATCH);
  }

  async function noteThere({ path, size, mtimeMs }: FoundFile, sha256: string): Promise<void> {
    totals.there += 1;
    await journal.record([{ path, size, mtime_ms: mtimeMs, sha256, step: "already_there", at: Date.now() }]);
  }

  async function send(file: FoundFile, sha256: string): Promise<void> {
    let answer: unknown;
    try {
      answer = await job.client.call({
        method: "POST",
        path: "/api/knowledge/files/upload",
        query: { kb_id: job.kbId, allow_duplicate: job.isDuplicateAllowed ? "true" : undefined },
        stream: () => fileForm(basename(file.path), file.absolute, (sent) => progress.sent(file, sent)),
        // An upload whose answer is lost is an object without a record: no user sees it.
        isRepeatable: true,
        timeoutMs: UPLOAD_MS,
      });
    } catch (error) {
      if (error instanceof SvcError && error.code === "duplicate_content") return noteThere(file, sha256);
      throw error;
    }
    const { file_path, content_hash, size } = readAnswer(Uploaded, answer);
    if (content_hash !== sha256)
      throw new SvcError("changed_while_read", "the file changed while it was uploaded: upload it again");
    totals.uploaded += 1;
    totals.bytes += size;
    const { path, mtimeMs } = file;
    const entry: Entry = { path, size, mtime_ms: mtimeMs, sha256, step: "uploaded", file_path, at: Date.now() };
    await journal.record([entry]);
    ready.push(entry);
    await flush(BATCH);
  }

  async function visit(list: readonly FoundFile[]): Promise<void> {
    await forEachAtOnce(list, job.concurrency, async (file) => {
      try {
        await take(file);
      } catch (error) {
        failed.push(explainFailure(file, error));
      } finally {
        progress.done(file);
      }
    });
    while (ready.length > 0) await flush(1);
    await adding;
  }

  try {
    await visit(files);
    const again = new Set(expired);
    expired = [];
    for (const path of again) {
      settled.delete(path);
      // Its content is there no more, for a copy of it neither.
      firsts.delete(journal.entries.get(path)?.sha256 ?? "");
    }
    await visit(files.filter(({ path }) => again.has(path)));
  } finally {
    progress.end();
  }
  for (const path of expired) failed.push({ path, code: "object_unknown", message: "the uploaded bytes are gone" });
  return {
    scanned: files.length + skipped.length,
    skipped,
    already_there: totals.there,
    uploaded: totals.uploaded,
    added: totals.added,
    failed: failed.toSorted((one, other) => (one.path < other.path ? -1 : 1)),
    bytes: totals.bytes,
  };
}

/** A fault of one file. Whatever would meet every file ends the upload. */
function explainFailure({ path }: FoundFile, error: unknown): FailedFile {
  if (error instanceof SvcError) {
    const isOfFile = error.status !== null ? ![401, 403, 404, 507].includes(error.status) : OF_A_FILE.has(error.code);
    if (isOfFile) return { path, code: error.code, message: error.message };
  } else if (error instanceof Error && "syscall" in error && "code" in error) {
    return { path, code: "file_unreadable", message: `the file cannot be read (${String(error.code)})` };
  }
  throw error;
}
const OF_A_FILE: ReadonlySet<string> = new Set(["file_unreadable", "changed_while_read"]);

/** Does something with each, so many at once; after the first fault nothing new is begun, and what runs is awaited. */
async function forEachAtOnce<Item>(
  items: readonly Item[],
  atOnce: number,
  visit: (item: Item) => Promise<void>,
): Promise<void> {
  const faults: unknown[] = [];
  const left = items.values();
  async function work(): Promise<void> {
    for (const item of left) {
      if (faults.length > 0) return;
      await visit(item).catch((error: unknown) => faults.push(error));
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work));
  if (faults.length > 0) throw faults[0];
}

function followProgress(terminal: Terminal, files: readonly FoundFile[]) {
  const bar = createProgressBar(terminal);
  const total = files.reduce((sum, { size }) => sum + size, 0);
  const parts = new Map<FoundFile, number>();
  let sum = 0;
  let finished = 0;
  function move(file: FoundFile, bytes: number): void {
    sum += bytes - (parts.get(file) ?? 0);
    parts.set(file, bytes);
    const text = `${finished} of ${files.length} files, ${formatBytes(sum)} of ${formatBytes(total)}  ${safeLine(file.path)}`;
    bar.show(total === 0 ? 1 : sum / total, text);
  }
  return {
    sent: move,
    done(file: FoundFile): void {
      finished += 1;
      move(file, file.size);
    },
    end: () => bar.end(),
  };
}

/** The SHA-256 of a file's bytes, in hex. */
async function hashFile(absolute: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(absolute, { highWaterMark: 262_144 }), hash, { signal });
  return hash.digest("hex");
}
