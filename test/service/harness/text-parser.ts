import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { chunkMarkdown } from "../../../src/service/knowledge/indexing/chunk.ts";
import { ParseFailed } from "../../../src/service/knowledge/parse/failures.ts";
import type { Parser } from "../../../src/service/knowledge/parse/parser.ts";

export interface TextParserOptions {
  /** Called before each document is read; what it awaits holds the parse up. */
  readonly onParse?: (filename: string, signal: AbortSignal) => Promise<void>;
}

/** Stands in for the parser's child processes: takes Markdown as it is. The real ones have tests of their own. */
export function createTextParser({ onParse }: TextParserOptions = {}): Parser {
  return {
    async parse({ source, filename }, onProgress, signal) {
      onProgress({ page: 1, pages: 1 });
      await onParse?.(filename, signal);
      signal.throwIfAborted();
      if (filename.startsWith("bad")) throw new ParseFailed("corrupt", "not a document");
      const directory = await mkdtemp(join(tmpdir(), "svc-text-"));
      const markdownPath = join(directory, "markdown");
      await pipeline(source, createWriteStream(markdownPath));
      const { size } = await stat(markdownPath);
      const content = await text(createReadStream(markdownPath));
      return {
        markdownPath,
        markdownBytes: size,
        lines: content.replace(/\n$/, "").split("\n").length,
        pages: null,
        parser: "text",
        fileType: "md",
        warnings: [],
        release: () => rm(directory, { recursive: true, force: true }),
      };
    },
    async *chunk(markdown, settings, signal) {
      const chunks = [...chunkMarkdown(await text(markdown), settings)];
      if (chunks.length === 0) throw new ParseFailed("no_chunks", "nothing to index");
      for (let start = 0; start < chunks.length; start += 200) {
        signal.throwIfAborted();
        yield chunks.slice(start, start + 200);
      }
    },
    supportedTypes: () => [
      { extension: "md", parser: "text", isAvailable: true },
      { extension: "txt", parser: "text", isAvailable: true },
      { extension: "html", parser: "text", isAvailable: true },
      { extension: "png", parser: "tesseract", isAvailable: false, needs: "tesseract" },
    ],
    engines: () => ({ ocr: null, ocrLanguages: [], converter: null }),
    close: async () => undefined,
  };
}
