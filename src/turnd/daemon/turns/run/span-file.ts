import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { writeFileAtomic } from "../../storage/atomic-file.ts";

const range = z.array(z.int().nonnegative()).min(1).max(2);

/** `span.json`: which server did a turn, and which part of its output is the turn's; without an end while it runs. */
const SpanFile = z.object({ server: z.int().positive(), stdout: range, stderr: range });
export type SpanFile = z.infer<typeof SpanFile>;

export const SPAN_FILE = "span.json";

/** Durable when it resolves: nothing is asked of a server before. Law: at most once. */
export async function writeSpan(directory: string, span: SpanFile): Promise<void> {
  await writeFileAtomic(join(directory, SPAN_FILE), `${JSON.stringify(span)}\n`);
}

/** Undefined where the turn has none. */
export async function readSpan(directory: string): Promise<SpanFile | undefined> {
  let text: string;
  try {
    text = await readFile(join(directory, SPAN_FILE), "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  return SpanFile.parse(JSON.parse(text));
}
