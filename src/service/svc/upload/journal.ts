import { createHash } from "node:crypto";
import { mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { lockUpload, type UploadLock } from "./lock.ts";

/** How far a file is. One that is `uploaded` may have its record already: the call that adds it was perhaps not answered. */
const Entry = z.object({
  path: z.string(),
  size: z.number(),
  mtime_ms: z.number(),
  sha256: z.string(),
  step: z.enum(["uploaded", "added", "already_there"]),
  /** The object's address. */
  file_path: z.string().optional(),
  file_id: z.string().optional(),
  /** Milliseconds since 1970, of this machine's clock. */
  at: z.number(),
});
export type Entry = z.infer<typeof Entry>;

/** What is being uploaded where. */
export interface UploadOf {
  readonly url: string;
  readonly kbId: string;
  readonly root: string;
}

/**
 * What an upload has done, so that one that was ended goes on.
 *
 * A line for each step, appended when the step is done. A kill leaves at most a torn last line, which is not read.
 */
export interface Journal {
  /** The last of each path. */
  readonly entries: ReadonlyMap<string, Entry>;
  record(entries: readonly Entry[]): Promise<void>;
  /** Lets another upload of the same directory begin. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Opens the journal of an upload.
 *
 * @param resumes - false: what an upload before has done counts for nothing
 * @throws {SvcError} upload_running while another process uploads the same
 */
export async function openJournal(
  stateDirectory: string,
  { url, kbId, root }: UploadOf,
  { resumes }: { readonly resumes: boolean },
): Promise<Journal> {
  const name = createHash("sha256")
    .update(JSON.stringify([url, kbId, root]))
    .digest("hex")
    .slice(0, 32);
  const directory = join(stateDirectory, "uploads");
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const lock = await lockUpload(name);
  try {
    return await openLocked(join(directory, `${name}.jsonl`), {
      header: { v: 1, url, kb_id: kbId, root },
      resumes,
      lock,
    });
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function openLocked(
  file: string,
  { header, resumes, lock }: { header: unknown; resumes: boolean; lock: UploadLock },
): Promise<Journal> {
  const text = resumes ? await readIfThere(file) : "";
  const entries = new Map(
    text
      .split("\n")
      .flatMap(parseLine)
      .map((entry) => [entry.path, entry]),
  );
  const handle = await open(file, resumes ? "a" : "w", 0o600);
  if (text === "") await handle.appendFile(`${JSON.stringify(header)}\n`);
  // What comes next must not be appended to a torn line.
  else if (!text.endsWith("\n")) await handle.appendFile("\n");
  let writing: Promise<void> = Promise.resolve();
  let isClosed = false;

  /** One after another: two writes at once could mix their lines. */
  async function writeAfter(before: Promise<void>, lines: string): Promise<void> {
    await before;
    await handle.appendFile(lines);
    await handle.datasync();
  }

  return {
    entries,
    async record(done) {
      for (const entry of done) entries.set(entry.path, entry);
      const lines = done.map((entry) => `${JSON.stringify(entry)}\n`).join("");
      const written = writeAfter(writing, lines);
      writing = written.catch(() => undefined);
      return written;
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      await writing;
      await handle.close();
      await lock.release();
    },
  };
}

async function readIfThere(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}

function parseLine(line: string): Entry[] {
  try {
    const entry = Entry.safeParse(JSON.parse(line));
    return entry.success ? [entry.data] : [];
  } catch {
    // A line that a kill cut off: its step counts as not done, and the service is asked.
    return [];
  }
}
