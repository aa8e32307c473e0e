import type { Dirent, Stats } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { EXIT, SvcError } from "../exit-codes.ts";

/** A file to upload. */
export interface FoundFile {
  /** Below what was given, with `/`; the record's `source_path`. */
  readonly path: string;
  readonly absolute: string;
  readonly size: number;
  readonly mtimeMs: number;
}

export interface SkippedFile {
  readonly path: string;
  readonly reason: SkipReason;
}
export type SkipReason =
  | "hidden"
  | "link"
  | "special"
  | "unsupported_type"
  | "excluded"
  | "empty"
  | "too_large"
  | "path_too_long"
  | "unreadable";

export interface ScanRules {
  /** Extensions that the service takes, lower-case. */
  readonly types: ReadonlySet<string>;
  readonly include: ReadonlySet<string> | undefined;
  readonly exclude: ReadonlySet<string>;
  readonly maxBytes: number;
}

export interface ScanResult {
  /** What was given, as it is on disk. */
  readonly root: string;
  /** By path, byte by byte. */
  readonly files: readonly FoundFile[];
  readonly skipped: readonly SkippedFile[];
}

/** Of a record's `source_path`. */
const MAX_PATH = 1_024;

/** Finds what is to be uploaded: one file, or all below a directory. Nothing is followed and nothing hidden is taken. */
export async function scan(given: string, rules: ScanRules): Promise<ScanResult> {
  const { root, stats } = await look(given);
  const files: FoundFile[] = [];
  const skipped: SkippedFile[] = [];

  function take(path: string, absolute: string, { size, mtimeMs }: Stats): void {
    const reason = reasonToSkip(path, size, rules);
    if (reason === undefined) files.push({ path, absolute, size, mtimeMs });
    else skipped.push({ path, reason });
  }

  async function visit(directory: string, prefix: string): Promise<void> {
    const entries = await readdir(directory, { withFileTypes: true });
    for (const entry of entries.toSorted(byName)) {
      const path = `${prefix}${entry.name}`;
      const absolute = join(directory, entry.name);
      const reason = reasonOfKind(entry);
      if (reason !== undefined) skipped.push({ path, reason });
      else {
        try {
          if (entry.isDirectory()) await visit(absolute, `${path}/`);
          else take(path, absolute, await stat(absolute));
        } catch (error) {
          if (!isSystemError(error)) throw error;
          skipped.push({ path, reason: "unreadable" });
        }
      }
    }
  }

  if (stats.isDirectory()) await visit(root, "");
  else take(basename(root), root, stats);
  return { root, files, skipped };
}

async function look(given: string): Promise<{ root: string; stats: Stats }> {
  try {
    const root = await realpath(given);
    const stats = await stat(root);
    if (stats.isDirectory() || stats.isFile()) return { root, stats };
    throw new SvcError("not_a_file", `${given} is neither a file nor a directory`, { exitCode: EXIT.usage });
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new SvcError("path_unreadable", `${given} cannot be read (${error.code})`, {
      exitCode: EXIT.usage,
      cause: error,
    });
  }
}

function reasonOfKind(entry: Dirent): SkipReason | undefined {
  if (entry.name.startsWith(".")) return "hidden";
  if (entry.isSymbolicLink()) return "link";
  return entry.isDirectory() || entry.isFile() ? undefined : "special";
}

function reasonToSkip(path: string, size: number, rules: ScanRules): SkipReason | undefined {
  const extension = /\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  if (rules.exclude.has(extension) || rules.include?.has(extension) === false) return "excluded";
  if (!rules.types.has(extension)) return "unsupported_type";
  if (size === 0) return "empty";
  if (size > rules.maxBytes) return "too_large";
  return path.length > MAX_PATH ? "path_too_long" : undefined;
}

function byName(one: Dirent, other: Dirent): number {
  return Buffer.compare(Buffer.from(one.name), Buffer.from(other.name));
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "code" in error && "syscall" in error;
}
