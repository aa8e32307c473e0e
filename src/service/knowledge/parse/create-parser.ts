import { randomUUID } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Chunk } from "../indexing/chunk.ts";
import { chooseLanguages, findEngines } from "./programs.ts";
import { type Bounds, type Done, exchange, handInput } from "./child-requests.ts";
import { startChild } from "./limits.ts";
import type { ChildRequest } from "./messages.ts";
import type {
  DocumentToParse,
  PageProgress,
  Parsed,
  Parser,
  ParserEngines,
  ParserOptions,
  SupportedType,
} from "./parser.ts";
import { createChildPool, type LentChild } from "./pool.ts";
import { KNOWN_TYPES } from "./types.ts";

/** Makes the parser; its children are started when they are needed. @throws when a program that is set is not there */
export async function createParser(options: ParserOptions): Promise<Parser> {
  const engines = await findEngines(options);
  const cpuLimitMs = options.timeoutMs;
  // Enough for a last file after all that came before it: a child that has used up one file's time is not used again.
  const cpuSeconds = Math.ceil((2 * cpuLimitMs) / 1_000) + 5;
  const settings = {
    maxPages: options.maxPages,
    outputBytes: options.outputBytes,
    tesseract: engines.ocr,
    soffice: engines.converter,
  };
  const pool = createChildPool({
    directory: options.directory,
    size: options.children,
    start: (directory) => startChild(directory, settings, { memoryMegabytes: options.memoryMegabytes, cpuSeconds }),
  });
  const boundsOf = (signal: AbortSignal): Bounds => ({ timeoutMs: options.timeoutMs, cpuSeconds, signal });

  async function finish(lent: LentChild, { cpuMs }: Done): Promise<void> {
    await (cpuMs > cpuLimitMs ? lent.discard() : lent.release());
  }

  async function parse(
    { source, filename, ocr, languages }: DocumentToParse,
    onProgress: (progress: PageProgress) => void,
    signal: AbortSignal,
  ): Promise<Parsed> {
    const request: ChildRequest = { type: "parse", filename, ocr, languages: [...chooseLanguages(languages, engines)] };
    const lent = await pool.acquire(signal);
    const markdownPath = join(options.directory, `markdown-${randomUUID()}`);
    const release = async (): Promise<void> => await rm(markdownPath, { force: true });
    try {
      await handInput(lent.child, source, signal);
      const { done, bytes } = await readMarkdown(lent, request, { markdownPath, onProgress, signal });
      await finish(lent, done);
      const { lines, pages, parser, fileType, warnings } = done;
      return { markdownPath, markdownBytes: bytes, lines, pages, parser, fileType, warnings, release };
    } catch (error) {
      await lent.discard();
      await release();
      // Copying the bytes has another word for it.
      signal.throwIfAborted();
      throw error;
    }
  }

  async function readMarkdown(
    { child }: LentChild,
    request: ChildRequest,
    to: { markdownPath: string; onProgress: (progress: PageProgress) => void; signal: AbortSignal },
  ): Promise<{ done: Done; bytes: number }> {
    const file = await open(to.markdownPath, "wx", 0o600);
    let bytes = 0;
    try {
      const steps = exchange(child, request, boundsOf(to.signal));
      for (;;) {
        const { value: step, done } = await steps.next();
        if (done === true) return { done: step, bytes };
        if (step.type === "progress") to.onProgress({ page: step.page, pages: step.pages });
        if (step.type !== "markdown") continue;
        bytes += step.bytes.length;
        // The child keeps this limit itself, unless something in it does not.
        if (bytes > options.outputBytes) child.kill("output");
        else await file.write(step.bytes);
      }
    } finally {
      await file.close();
    }
  }

  async function* chunk(
    ...[markdown, { maxChunks, targetTokens, maxTokens, overlapTokens }, signal]: Parameters<Parser["chunk"]>
  ): AsyncGenerator<readonly Chunk[]> {
    const lent = await pool.acquire(signal);
    try {
      await handInput(lent.child, markdown, signal);
      const request: ChildRequest = { type: "chunk", targetTokens, maxTokens, overlapTokens, maxChunks };
      const steps = exchange(lent.child, request, boundsOf(signal));
      for (;;) {
        const { value: step, done } = await steps.next();
        if (done === true) {
          await finish(lent, step);
          return;
        }
        if (step.type === "chunks") yield step.chunks;
      }
    } finally {
      // Of a child that has been given back this does nothing; one that has not is in the middle of something.
      await lent.discard();
    }
  }

  return {
    parse,
    chunk,
    supportedTypes: () => supportedTypes(engines),
    engines: () => engines,
    close: async () => await pool.close(),
  };
}

const PROGRAMS = { ocr: "tesseract", converter: "soffice" } as const;

/** Every known extension, and whether this machine can read it. */
function supportedTypes(engines: ParserEngines): SupportedType[] {
  return Object.entries(KNOWN_TYPES).map(([extension, { parser, needs }]) => {
    if (needs === undefined) return { extension, parser, isAvailable: true };
    const isAvailable = engines[needs] !== null && (needs !== "ocr" || engines.ocrLanguages.length > 0);
    return { extension, parser, isAvailable, needs: PROGRAMS[needs] };
  });
}
