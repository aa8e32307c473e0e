import { once } from "node:events";
import { PassThrough, type Readable } from "node:stream";
import { ZipFile } from "yazl";
import { untilDrained, WorkerError, type FileWorker } from "../process/user-files/file-worker.ts";
import { dateOf } from "./entry-line.ts";
import { zipName } from "./file-path.ts";
import { watchEntries } from "./zip-entries.ts";

const ENTRY = /^(?:(directory|file) (-?\d{1,20}\.\d{3}) ([0-7]{1,4})|skipped ([a-z]{1,16})) ([0-9a-f]*)$/;
const LENGTH_BYTES = 4;
/** As a worker makes it; a larger one is not its own. */
const MAX_PIECE = 65_536;
/** Little processor time: what a tree is made of is often compressed already. */
const COMPRESSION_LEVEL = 1;
/** What a zip's own format can write. */
const YEARS = { first: new Date("1980-01-02T00:00:00Z"), last: new Date("2037-12-31T00:00:00Z") } as const;

/**
 * Makes a zip of what a worker walks, at the speed of its reader: one file at a time, a piece at a time.
 *
 * Links, special files and what the user may not read are left out; the zip's comment counts them. Names are UTF-8, and
 * sizes beyond 4 GiB are written as zip64.
 *
 * The stream ends before its end with an error where the worker does.
 */
export function zipTree(worker: FileWorker): Readable {
  const zip = new ZipFile();
  const output = new PassThrough();
  const source = zip.outputStream;
  if (!("on" in source)) throw new Error("yazl gives no stream");
  zip.on("error", (error: unknown) => output.destroy(error instanceof Error ? error : new Error(String(error))));
  source.pipe(output);
  addEntries(zip, worker, output).catch((error: unknown) =>
    output.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  return output;
}

async function addEntries(zip: ZipFile, worker: FileWorker, output: Readable): Promise<void> {
  const skipped = new Map<string, number>();
  const entries = watchEntries(zip, () => !output.destroyed);
  for (let line = await worker.readLine(); line !== "end"; line = await worker.readLine()) {
    const [, kind, seconds, mode, reason, hex = ""] = ENTRY.exec(line ?? "") ?? [];
    const name = zipName(Buffer.from(hex, "hex"));
    const options = { mtime: within(dateOf(Number(seconds))), mode: Number.parseInt(mode ?? "0", 8) };
    await entries.makeRoom();
    if (reason !== undefined) skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
    else if (kind === "directory") zip.addEmptyDirectory(name, { ...options, mode: options.mode | 0o040_000 });
    else if (kind === "file") {
      const body = new PassThrough();
      const level = { compressionLevel: COMPRESSION_LEVEL };
      zip.addReadStream(body, name, { ...options, ...level, mode: options.mode | 0o100_000 });
      const isTaken = once(body, "close");
      const giveUp = (): void => void body.destroy();
      output.once("close", giveUp);
      await copyPieces(worker, body);
      body.end();
      // The next one would only wait in memory.
      await isTaken;
      output.off("close", giveUp);
    } else throw new WorkerError("its answer is not that of a tree");
  }
  entries.putBack();
  zip.end({ comment: describeSkipped(skipped), forceZip64Format: false });
}

async function copyPieces(worker: FileWorker, body: PassThrough): Promise<void> {
  for (;;) {
    let left = (await readAll(worker, LENGTH_BYTES)).readUInt32BE();
    if (left === 0) return;
    if (left > MAX_PIECE) throw new WorkerError("it sent more than a piece");
    while (left > 0) {
      const some = await worker.readSome(left);
      left -= some.length;
      if (body.destroyed) throw new WorkerError("the zip has no reader any more");
      if (!body.write(some)) await untilDrained(body);
    }
  }
}

async function readAll(worker: FileWorker, bytes: number): Promise<Buffer> {
  let read = Buffer.alloc(0);
  while (read.length < bytes) read = Buffer.concat([read, await worker.readSome(bytes - read.length)]);
  return read;
}

function within(date: Date): Date {
  if (date < YEARS.first) return YEARS.first;
  return date > YEARS.last ? YEARS.last : date;
}

function describeSkipped(skipped: ReadonlyMap<string, number>): string {
  return [...skipped].map(([reason, count]) => `left out, ${reason}: ${count}`).join("; ");
}
