import type { Readable } from "node:stream";
import type { Chunk, Chunking } from "../indexing/chunk.ts";

/**
 * Turns documents into Markdown and Markdown into chunks, in child processes with limits, so that a document cannot disturb the service.
 *
 * No method reads a document in this process. Every failure is a `ParseFailed` with a code of the closed list, thrown; an
 * aborted signal throws its reason, after the child has ended. Calls beyond the number of children wait for a free one.
 */
export interface Parser {
  /** @throws {ParseFailed} */
  parse(document: DocumentToParse, onProgress: (progress: PageProgress) => void, signal: AbortSignal): Promise<Parsed>;
  /**
   * Cuts stored Markdown into chunks with their tokens, in batches of up to 200, in order.
   *
   * A batch is made only when it is asked for; the child is free again when the iteration ends, however it ends.
   * @param markdown - as `parse` gave it: UTF-8, normalised; read to its end
   * @throws {ParseFailed} `no_chunks`, `too_many_chunks`, or what ended the child
   */
  chunk(markdown: Readable, settings: ChunkSettings, signal: AbortSignal): AsyncIterable<readonly Chunk[]>;
  /** Every extension that is known, and whether a document of it can be parsed on this machine. */
  supportedTypes(): readonly SupportedType[];
  /** The optional programs that were found, for readiness and `/api/system/info`. */
  engines(): ParserEngines;
  /** Ends all children. Calls under way fail. Safe to call twice. */
  close(): Promise<void>;
}

/** One original. */
export interface DocumentToParse {
  /** The bytes, read once and to the end; written to a file that only the child sees, never held in memory. */
  readonly source: Readable;
  /** As uploaded: its extension breaks ties between types that look alike. */
  readonly filename: string;
  readonly ocr: "auto" | "on" | "off";
  /** Tesseract's names (`eng`, `chi_sim`); empty for those of the settings. */
  readonly languages: readonly string[];
}

/** How far a document of pages is; `pages` is null while it is not known. */
export interface PageProgress {
  readonly page: number;
  readonly pages: number | null;
}

/** What came out of a document. */
export interface Parsed {
  /** Path of a file with the Markdown, UTF-8. Good until `release`. */
  readonly markdownPath: string;
  readonly markdownBytes: number;
  /** Lines of the Markdown. */
  readonly lines: number;
  /** Null for a type without pages. */
  readonly pages: number | null;
  /** Which parser made it, with its version: `pdf unpdf 1.8.1`. */
  readonly parser: string;
  /** What was found by content: `pdf`, `docx`, …; not always the extension. */
  readonly fileType: string;
  /** What a reader of the Markdown should know, one sentence each: `ocr`, `read as gb18030`, …; at most 50. */
  readonly warnings: readonly string[];
  /** Removes the Markdown's file. Safe to call twice. */
  release(): Promise<void>;
}

/** The settings of chunking, and the most chunks that one file may give. */
export interface ChunkSettings extends Chunking {
  readonly maxChunks: number;
}

/** A row of `supported-types`. */
export interface SupportedType {
  /** Without a dot, lower case. */
  readonly extension: string;
  readonly parser: string;
  readonly isAvailable: boolean;
  /** The program that is missing. */
  readonly needs?: string;
}

/** Paths of the optional programs, or null. */
export interface ParserEngines {
  readonly ocr: string | null;
  /** Tesseract's languages that are installed and set. */
  readonly ocrLanguages: readonly string[];
  readonly converter: string | null;
}

/** The settings of the children. Source: the variables `SERVICE_KB_*`. */
export interface ParserOptions {
  /** Directory for temporary files; it must exist. */
  readonly directory: string;
  /** Children at once; as many are kept warm, at most two. */
  readonly children: number;
  /** Milliseconds that one file may take, waiting for the caller not counted. */
  readonly timeoutMs: number;
  readonly memoryMegabytes: number;
  /** Most bytes of Markdown. */
  readonly outputBytes: number;
  readonly maxPages: number;
  /** `off`, `auto` (looked for in PATH), or a path. */
  readonly ocr: string;
  readonly ocrLanguages: readonly string[];
  readonly converter: string;
}
