import { appendFile, open, readFile, rm, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { writeFileAtomic } from "../../storage/atomic-file.ts";

/** Lines on their way into `stdout.jsonl`, and how long that was before them. */
const Pending = z.object({ base: z.int().nonnegative(), text: z.string() });

const PENDING = "recovered.json";
const STDOUT = "stdout.jsonl";

/**
 * Appends lines to a turn's `stdout.jsonl`: all of them, whatever happens on the way.
 *
 * They are written down as a whole first, so that `finishAppending` can do the rest after a crash: a long append is no
 * single write.
 * @returns false where the file ends within a line: nothing can be put behind that
 */
export async function appendLines(directory: string, lines: readonly string[]): Promise<boolean> {
  const path = join(directory, STDOUT);
  const { size } = await stat(path);
  if (size > 0 && (await readLastByte(path, size)) !== "\n") return false;
  const pending: z.infer<typeof Pending> = { base: size, text: `${lines.join("\n")}\n` };
  await writeFileAtomic(join(directory, PENDING), JSON.stringify(pending));
  await finishAppending(directory);
  return true;
}

/** Appends what an earlier daemon had begun to append, or takes it back. Safe to repeat, and to be cut off. */
export async function finishAppending(directory: string): Promise<void> {
  const text = await readFile(join(directory, PENDING), "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return;
  const pending = Pending.parse(JSON.parse(text));
  const path = join(directory, STDOUT);
  await truncate(path, pending.base);
  try {
    await appendFile(path, pending.text, { flush: true });
  } catch (error) {
    await truncate(path, pending.base);
    throw error;
  } finally {
    await rm(join(directory, PENDING));
  }
}

async function readLastByte(path: string, size: number): Promise<string> {
  const file = await open(path, "r");
  try {
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
    return buffer.toString("latin1");
  } finally {
    await file.close();
  }
}
