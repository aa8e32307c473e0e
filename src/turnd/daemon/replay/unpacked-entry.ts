import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { openWriter } from "./file-writer.ts";
import { RecordingError } from "./recording-error.ts";

/** Law: every wait is bounded. What one archive may hold. */
export const MAX_ENTRIES = 100_000;
const MAX_NAME_BYTES = 1_024;

/** Writes an entry of an archive, and the directories above it. @throws {RecordingError} if it stands there twice */
export async function writeEntry(path: string, content: AsyncIterable<unknown>, shown: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = await openWriter(path);
    try {
      for await (const chunk of content) if (Buffer.isBuffer(chunk)) await file.write(chunk);
    } finally {
      await file.close();
    }
  } catch (error) {
    // Such as EEXIST: there twice, or once as a file and once as a directory. The path behind it is turnd's own.
    if (error instanceof Error && "syscall" in error)
      throw new RecordingError(shown, error.message.replace(/, \w+(?: '[^]*)?$/, ""));
    throw error;
  }
}

/** The path of an entry. @throws {RecordingError} unless it stays below its directory on every system */
export function checkName(entry: string, archive: string): string {
  const parts = entry.split("/").filter((part) => part !== "" && part !== ".");
  const isSafe =
    !entry.startsWith("/") &&
    !entry.includes("\u0000") &&
    parts.length > 0 &&
    !parts.includes("..") &&
    Buffer.byteLength(entry) <= MAX_NAME_BYTES;
  if (!isSafe)
    throw new RecordingError(archive, `has an entry ${JSON.stringify(entry.slice(0, 200))}, which is refused`);
  return parts.join("/");
}
