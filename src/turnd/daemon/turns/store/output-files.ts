import { open } from "node:fs/promises";

/** The two files that are followed. */
export const OUTPUT = { stdout: "stdout.jsonl", stderr: "stderr.log" } as const;

/** What a player of a recording fills them from. */
export const RECORDED = { stdout: "recorded.stdout.jsonl", stderr: "recorded.stderr.log" } as const;

const CHUNK_BYTES = 16_384;
const NEWLINE = 0x0a;

/** Cuts a file of output after so many lines: what has become no event is not part of the turn. */
export async function keepLines(path: string, lines: number): Promise<void> {
  const file = await open(path, "r+");
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let [left, offset] = [lines, 0];
    while (left > 0) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, offset);
      if (bytesRead === 0) return;
      const chunk = buffer.subarray(0, bytesRead);
      let end = 0;
      while (left > 0 && end < bytesRead) {
        const at = chunk.indexOf(NEWLINE, end);
        if (at !== -1) left -= 1;
        end = at === -1 ? bytesRead : at + 1;
      }
      offset += end;
    }
    await file.truncate(offset);
  } finally {
    await file.close();
  }
}
