import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { onTestFinished } from "vitest";
import { createParser } from "../../../../src/service/knowledge/parse/create-parser.ts";
import { explainError } from "../../../../src/service/knowledge/parse/explain.ts";
import { ParseFailed } from "../../../../src/service/knowledge/parse/failures.ts";
import { createNormaliser } from "../../../../src/service/knowledge/parse/normalise.ts";
import { parseOriginal } from "../../../../src/service/knowledge/parse/parse-original.ts";
import type { Parsed, Parser, ParserOptions } from "../../../../src/service/knowledge/parse/parser.ts";

export const DOCUMENTS = join(import.meta.dirname, "../../../../fixtures/documents");

/** A parser with the settings' defaults, in a directory of its own; `end` leaves nothing. */
export async function startParser(
  options: Partial<ParserOptions> = {},
): Promise<{ parser: Parser; end(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), "parser-"));
  const parser = await createParser({
    directory,
    children: 2,
    timeoutMs: 120_000,
    memoryMegabytes: 1_024,
    outputBytes: 67_108_864,
    maxPages: 5_000,
    ocr: "auto",
    ocrLanguages: ["eng", "chi_sim"],
    converter: "auto",
    ...options,
  });
  return {
    parser,
    async end() {
      await parser.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The same for one test. */
export async function parserOfTest(options: Partial<ParserOptions> = {}): Promise<Parser> {
  const { parser, end } = await startParser(options);
  onTestFinished(end);
  return parser;
}

export interface Read extends Omit<Parsed, "release" | "markdownPath"> {
  readonly markdown: string;
}

/** A document's Markdown, or the code with which it failed. */
export async function readDocument(
  parser: Parser,
  filename: string,
  bytes: Uint8Array | Readable,
  ocr: "auto" | "on" | "off" = "auto",
): Promise<Read | ParseFailed> {
  const source = bytes instanceof Readable ? bytes : Readable.from([bytes]);
  try {
    const parsed = await parser.parse({ source, filename, ocr, languages: [] }, () => {}, AbortSignal.timeout(600_000));
    const markdown = await readFile(parsed.markdownPath, "utf8");
    await parsed.release();
    return { ...parsed, markdown };
  } catch (error) {
    if (error instanceof ParseFailed) return error;
    throw error;
  }
}

/** The same where it must be read. */
export async function mustRead(parser: Parser, filename: string, bytes: Uint8Array | string): Promise<Read> {
  const result = await readDocument(parser, filename, typeof bytes === "string" ? Buffer.from(bytes) : bytes);
  if (result instanceof ParseFailed) throw result;
  return result;
}

/** Reads a document as the child does, in this process: where the process is not what is proved. No program is started. */
export async function readHere(filename: string, bytes: Buffer): Promise<string | ParseFailed> {
  const normaliser = createNormaliser();
  try {
    const { markdown } = await parseOriginal({
      bytes,
      filename,
      ocr: "off",
      languages: [],
      tesseract: null,
      soffice: null,
      maxPages: 5_000,
      scratch: "/nowhere",
      onProgress: () => undefined,
      warn: () => undefined,
    });
    const pieces: string[] = [];
    for await (const piece of markdown.text) pieces.push(normaliser.push(piece));
    return [...pieces, normaliser.end()].join("");
  } catch (error) {
    return explainError(error);
  }
}
