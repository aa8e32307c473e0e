import { Info, Records, SupportedTypes } from "../answers.ts";
import { askYes } from "../ask.ts";
import { readAnswer, type Client } from "../client.ts";
import { stateDirectory } from "../config.ts";
import type { Context } from "../context.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { Terminal } from "../../../kit/command-line/terminal.ts";
import { count, formatBytes, safeLine, table } from "../../../kit/command-line/text.ts";
import { openJournal } from "../upload/journal.ts";
import { scan, type ScanResult } from "../upload/scan.ts";
import { uploadFiles, type UploadSummary } from "../upload/upload-files.ts";

export interface UploadOptions {
  readonly kbId: string;
  readonly includeExt?: readonly string[];
  readonly excludeExt?: readonly string[];
  readonly concurrency: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly allowDuplicate?: boolean;
  /** False with `--no-resume`. */
  readonly resume: boolean;
}

/** More than this is asked about. */
const MANY_FILES = 100;
const MANY_BYTES = 1_073_741_824;
/** Skipped files that are named; all of them with `--json`. */
const MOST_NAMED = 20;

/** Uploads originals and adds their records; nothing is parsed and nothing indexed. */
export async function upload(context: Context, path: string, options: UploadOptions): Promise<ExitCode> {
  const { terminal, env, signal } = context;
  const client = await context.client();
  const scanned = await look(client, terminal, path, options);
  const bytes = scanned.files.reduce((sum, { size }) => sum + size, 0);
  if (options.dryRun === true) return showPlan(terminal, scanned, bytes);
  if (terminal.isInteractive && options.yes !== true && (scanned.files.length > MANY_FILES || bytes > MANY_BYTES)) {
    const question = `Upload ${count(scanned.files.length, "file")}, ${formatBytes(bytes)}?`;
    if (!(await askYes(context, question))) return EXIT.failed;
  }
  const of = { url: client.url, kbId: options.kbId, root: scanned.root };
  const journal = await openJournal(stateDirectory(env), of, { resumes: options.resume });
  try {
    const isDuplicateAllowed = options.allowDuplicate === true;
    const { kbId, concurrency } = options;
    const done = await uploadFiles(
      { client, terminal, signal, journal, kbId, concurrency, isDuplicateAllowed },
      scanned,
    );
    showSummary(terminal, done, kbId);
    return done.failed.length > 0 ? EXIT.failed : EXIT.done;
  } catch (error) {
    terminal.clearStatus();
    terminal.notice("what is uploaded stays: the same command goes on from here");
    throw error;
  } finally {
    await journal.close();
  }
}

/** Finds what to upload; a user who may not upload is refused before anything is read. */
async function look(client: Client, terminal: Terminal, path: string, options: UploadOptions): Promise<ScanResult> {
  const records = `/api/knowledge/databases/${encodeURIComponent(options.kbId)}/documents`;
  readAnswer(Records, await client.call({ method: "GET", path: records, query: { limit: 1 } }));
  const [types, info] = await Promise.all([
    client.call({ method: "GET", path: "/api/knowledge/files/supported-types" }),
    client.call({ method: "GET", path: "/api/system/info" }),
  ]);
  const taken = readAnswer(SupportedTypes, types).types;
  const scanned = await scan(path, {
    types: new Set(taken.map(({ extension }) => extension)),
    include: options.includeExt === undefined ? undefined : new Set(options.includeExt),
    exclude: new Set(options.excludeExt),
    maxBytes: readAnswer(Info, info).limits.max_file_bytes ?? Number.POSITIVE_INFINITY,
  });
  for (const { extension, available, needs } of taken) {
    const files = scanned.files.filter((file) => file.path.toLowerCase().endsWith(`.${extension}`)).length;
    if (!available && files > 0)
      terminal.notice(
        `svc: the service cannot read .${extension} (${count(files, "file")}): it has no ${safeLine(needs ?? "reader")}`,
      );
  }
  return scanned;
}

function showPlan(terminal: Terminal, { files, skipped }: ScanResult, bytes: number): ExitCode {
  if (files.length > 0)
    terminal.text(
      table(
        ["SIZE", "PATH"],
        files.map(({ size, path }) => [formatBytes(size), path]),
      ),
    );
  terminal.text(`${count(files.length, "file")} to upload, ${formatBytes(bytes)}; ${skipped.length} skipped`);
  showSkipped(terminal, skipped);
  terminal.json({
    scanned: files.length + skipped.length,
    skipped,
    to_upload: files.map(({ path, size }) => ({ path, size })),
    bytes,
  });
  return EXIT.done;
}

function showSkipped(terminal: Terminal, skipped: ScanResult["skipped"]): void {
  if (skipped.length === 0) return;
  const named = skipped.slice(0, MOST_NAMED).map(({ path, reason }) => [reason, path]);
  terminal.notice(table(["SKIPPED", "PATH"], named));
  if (skipped.length > MOST_NAMED) terminal.notice(`… and ${skipped.length - MOST_NAMED} more`);
}

function showSummary(terminal: Terminal, summary: UploadSummary, kbId: string): void {
  const { scanned, skipped, already_there: there, uploaded, added, failed, bytes } = summary;
  showSkipped(terminal, skipped);
  if (failed.length > 0)
    terminal.warn(
      table(
        ["FAILED", "CODE", "MESSAGE"],
        failed.map(({ path, code, message }) => [path, code, message]),
      ),
    );
  terminal.text(
    `${scanned} scanned: ${added} added, ${there} already there, ${skipped.length} skipped, ${failed.length} failed; ` +
      `${uploaded} uploaded (${formatBytes(bytes)})`,
  );
  if (added > 0) {
    const id = safeLine(kbId);
    terminal.notice(
      `nothing is parsed or indexed yet; go on:\n  svc kb parse --kb-id ${id} --pending --wait\n  svc kb index --kb-id ${id} --pending --wait`,
    );
  }
  terminal.json(summary);
}
