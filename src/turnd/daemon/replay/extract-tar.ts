import { join } from "node:path";
import { RecordingError } from "./recording-error.ts";
import { checkName, MAX_ENTRIES, writeEntry } from "./unpacked-entry.ts";

/**
 * Writes the regular files of a tar archive below a directory. Links, devices and pipes in it are left out.
 * Its bytes are limited where it is read.
 *
 * @param name - how messages call the archive
 * @param directory - empty, and only turnd can change it
 * @throws {RecordingError} if a name leads out of it or stands there twice, or the archive is broken or too large
 */
export async function extractTar(
  chunks: AsyncGenerator<Buffer>,
  { name, directory }: { readonly name: string; readonly directory: string },
): Promise<void> {
  const [{ default: tar }, { Readable }] = await Promise.all([import("tar-stream"), import("node:stream")]);
  const archive = tar.extract();
  const source = Readable.from(chunks);
  let fault: Error | undefined;
  // It ends the loop below, which may see only that the archive is closed.
  source.on("error", (error) => {
    fault = error;
    archive.destroy(error);
  });
  source.pipe(archive);
  let entries = 0;
  let within = "";
  try {
    for await (const entry of archive) {
      entries += 1;
      if (entries > MAX_ENTRIES) throw new RecordingError(name, `has more than ${MAX_ENTRIES} entries`);
      const { header } = entry;
      within = `, in the entry ${JSON.stringify(header.name.slice(0, 200))}`;
      if (header.type === "file" || header.type === "contiguous-file") {
        const path = join(directory, checkName(header.name, name));
        await writeEntry(path, entry, `${name}: ${JSON.stringify(header.name)}`);
      } else {
        entry.resume();
      }
    }
  } catch (error) {
    if (fault instanceof RecordingError) throw fault;
    if (error instanceof RecordingError) throw error;
    const said = error instanceof Error ? error.message : String(error);
    // An entry whose archive ended says the second one. What follows an entry names none: it may be the next one's header.
    if (/^(Unexpected end of data|Stream was destroyed)$/.test(said))
      throw new RecordingError(name, `is a truncated tar archive${within}`);
    throw new RecordingError(
      name,
      `is a broken tar archive: ${said}${within === "" ? "" : `, after${within.slice(", in".length)}`}`,
    );
  } finally {
    source.destroy();
    archive.destroy();
  }
}
