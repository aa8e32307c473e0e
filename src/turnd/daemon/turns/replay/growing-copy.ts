import { open } from "node:fs/promises";

/** A file that grows into a copy of another, line by line. */
export interface GrowingCopy {
  /** Whether this line is there already, whole. */
  hasLine(line: number): boolean;
  /** Appends what is missing up to and with this line, 1-based, or to the end where there are fewer. */
  copyTo(line: number): Promise<void>;
  close(): Promise<void>;
}

const CHUNK_BYTES = 16_384;
const NEWLINE = 0x0a;

/** Opens the copy as an earlier daemon may have left it: its bytes are the first ones of the other, cut anywhere. */
export async function openCopy(fromPath: string, toPath: string): Promise<GrowingCopy> {
  const from = await open(fromPath, "r");
  const to = await open(toPath, "a", 0o600);
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let [lines, offset] = [0, 0];

  /** The next bytes, to the end of that line at most. */
  async function read(limit: number, line: number): Promise<Buffer> {
    const { bytesRead } = await from.read(buffer, 0, Math.min(CHUNK_BYTES, limit - offset), offset);
    const chunk = buffer.subarray(0, bytesRead);
    let end = 0;
    while (lines < line && end < bytesRead) {
      const at = chunk.indexOf(NEWLINE, end);
      if (at !== -1) lines += 1;
      end = at === -1 ? bytesRead : at + 1;
    }
    offset += end;
    return chunk.subarray(0, end);
  }

  const { size } = await to.stat();
  while (offset < size && (await read(size, Infinity)).length > 0);
  return {
    hasLine: (line) => line <= lines,
    async copyTo(line) {
      while (lines < line) {
        const bytes = await read(Infinity, line);
        if (bytes.length === 0) return;
        await to.appendFile(bytes);
      }
    },
    close: async () => void (await Promise.all([from.close(), to.close()])),
  };
}
