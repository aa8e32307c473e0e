import { z } from "zod";
import type { FileEntry } from "../../protocol/index.ts";
import { WorkerError } from "../process/user-files/file-worker.ts";
import { encodePath, lastName, showName } from "./file-path.ts";

const LINE = /^(file|directory|link|other) (\d{1,19}) (-?\d{1,20}\.\d{3}) ([0-7]{1,4}) ([0-9a-f.-]{1,120})$/;
const Named = z.tuple([
  z.string().regex(/^([0-9a-f]{2})+$/),
  z
    .string()
    .regex(/^([0-9a-f]{2})*$/)
    .optional(),
]);
/** The years 1 to 9999, which RFC 3339 can write, in seconds. */
const SECONDS = { min: -62_135_596_800, max: 253_402_300_799 } as const;

/** Reads what a worker says of one entry. @throws {WorkerError} for anything else */
export function readEntry(line: string | undefined, path: Buffer): FileEntry {
  const [, type, size, seconds, mode, version] = LINE.exec(line ?? "") ?? [];
  if (type !== "file" && type !== "directory" && type !== "link" && type !== "other") {
    throw new WorkerError("its answer is not that of an entry");
  }
  return {
    name: showName(lastName(path)),
    path: encodePath(path),
    type,
    size_bytes: sizeOf(size),
    modified_at: dateOf(Number(seconds)).toISOString(),
    mode: String(mode),
    ...(type === "file" ? { etag: `"${version}"` } : {}),
  };
}

/** Reads a line of a list: an entry, its name and what it leads to. */
export function readListed(line: string, pathOf: (name: Buffer) => Buffer): { name: Buffer; entry: FileEntry } {
  const words = line.split(" ");
  const parsed = Named.safeParse(words.slice(5));
  if (!parsed.success) throw new WorkerError("its answer is not that of an entry");
  const [hex, target] = parsed.data;
  const name = Buffer.from(hex, "hex");
  const entry = readEntry(words.slice(0, 5).join(" "), pathOf(name));
  return {
    name,
    entry: target === undefined ? entry : { ...entry, target: showName(Buffer.from(target, "hex")) },
  };
}

/** Sparse files may be larger than any number that JSON can hold exactly. */
function sizeOf(digits: string | undefined): number {
  return Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
}

/** A time that a tool may have set to anything. */
export function dateOf(seconds: number): Date {
  return new Date(Math.max(SECONDS.min, Math.min(SECONDS.max, seconds)) * 1000);
}
