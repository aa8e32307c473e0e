import { open } from "node:fs/promises";
import { z } from "zod";

/** A line of pino's, as far as it is read. */
const LogLine = z.object({ level: z.int(), msg: z.string() });
const WARN = 40;
/** What a start writes is a few lines. */
const MOST_BYTES = 262_144;

/** The warnings and errors that a turnd has logged behind a place of its log: nobody else reads that file. */
export async function readWarnings(logPath: string, from: number): Promise<string[]> {
  const file = await open(logPath, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, from);
    return buffer
      .toString("utf8", 0, bytesRead)
      .split("\n")
      .flatMap((line) => {
        const read = LogLine.safeParse(parseJson(line));
        return read.success && read.data.level >= WARN ? [read.data.msg] : [];
      });
  } finally {
    await file.close();
  }
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // Words of the program that starts turnd, or the last line of what was read.
    return undefined;
  }
}
