import type { Readable } from "node:stream";

/** The lines of a stored Markdown, in order, without their ends; an end at the very end makes no line. */
export async function* readLines(source: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let rest = "";
  try {
    for await (const part of source) {
      if (!(part instanceof Uint8Array)) throw new Error("objects are read as bytes");
      const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
    rest += decoder.decode();
    if (rest !== "") yield rest;
  } finally {
    source.destroy();
  }
}
