import { join } from "node:path";
import type { Entry } from "yauzl";
import { RecordingError } from "./recording-error.ts";
import { checkName, MAX_ENTRIES, writeEntry } from "./unpacked-entry.ts";

/** The kind of a file in the upper half of its external attributes, where a Unix made the archive. Source: APPNOTE 4.4.15. */
const KIND = 0o170_000;
const REGULAR = 0o100_000;

/**
 * Writes the regular files of a zip archive below a directory. Links, devices and pipes in it are left out.
 *
 * @param path - where the archive is: its table of contents is at its end
 * @param name - how messages call the archive
 * @param directory - empty, and only turnd can change it
 * @param maxBytes - what may be unpacked in all, counted as it comes out
 * @throws {RecordingError} if a name leads out of it or stands there twice, or the archive is broken, encrypted or too large
 */
export async function extractZip(
  path: string,
  { name, directory, maxBytes }: { readonly name: string; readonly directory: string; readonly maxBytes: number },
): Promise<void> {
  const { openPromise } = await import("yauzl");
  let unpacked = 0;
  async function* counted(content: AsyncIterable<unknown>): AsyncGenerator {
    for await (const chunk of content) {
      if (Buffer.isBuffer(chunk)) unpacked += chunk.length;
      if (unpacked > maxBytes) throw new RecordingError(name, `holds more than ${maxBytes} bytes`);
      yield chunk;
    }
  }
  try {
    const archive = await openPromise(path, { autoClose: false });
    try {
      if (archive.entryCount > MAX_ENTRIES) throw new RecordingError(name, `has more than ${MAX_ENTRIES} entries`);
      for await (const entry of archive.eachEntry()) {
        if (!isFile(entry)) continue;
        const shown = `${name}: ${JSON.stringify(entry.fileName)}`;
        if (entry.isEncrypted()) throw new RecordingError(shown, "is encrypted");
        const content = await archive.openReadStreamPromise(entry);
        await writeEntry(join(directory, checkName(entry.fileName, name)), counted(content), shown);
      }
    } finally {
      archive.close();
    }
  } catch (error) {
    if (error instanceof RecordingError) throw error;
    throw new RecordingError(
      name,
      `is a broken zip archive: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** An archive of another system has no kinds: a directory's name ends in `/`. */
function isFile({ fileName, externalFileAttributes: attributes }: Entry): boolean {
  const kind = (attributes >>> 16) & KIND;
  return !fileName.endsWith("/") && (kind === 0 || kind === REGULAR);
}
