import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isThere } from "./recording.ts";
import { RecordingError } from "./recording-error.ts";

/** Something below a directory that is, or may be, a recording. */
export interface WalkEntry {
  readonly path: string;
  readonly kind: "directory" | "file";
}

/** Files that may be recordings: of other `.json` files, only the documents among them count. */
const FILE = /\.(?:jsonl|json|tgz|tar|zip)(?:\.gz)?$/;
/** A session's home is the CLI's own: it keeps files of JSON lines there that are no output. */
const NOT_ENTERED = new Set(["home", "node_modules"]);

/**
 * Finds recordings in and below a directory, in the order of their names. Links are not followed, so it comes to an end.
 *
 * @param onFault - is given what cannot be read; the rest is found all the same
 */
export async function* walkRecordings(
  directory: string,
  onFault: (error: RecordingError) => void,
): AsyncGenerator<WalkEntry> {
  if ((await hasFile(directory, "turn.json")) || (await hasFile(directory, "stdout.jsonl"))) {
    yield { path: directory, kind: "directory" };
    return;
  }
  let entries;
  try {
    entries = await readdir(directory, { withFileTypes: true });
  } catch (error) {
    onFault(new RecordingError(directory, error instanceof Error ? error.message : String(error)));
    return;
  }
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(directory, entry.name);
    if (entry.isDirectory() && !entry.name.startsWith(".") && !NOT_ENTERED.has(entry.name)) {
      yield* walkRecordings(path, onFault);
    } else if (entry.isFile() && FILE.test(entry.name)) {
      yield { path, kind: "file" };
    }
  }
}

/** A file of this name that cannot be looked at, or is none, is left to the code that opens it: that reports it. */
async function hasFile(directory: string, name: string): Promise<boolean> {
  return isThere(join(directory, name)).catch(() => true);
}
