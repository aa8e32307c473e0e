import type { PageProgress } from "../parser.ts";

/** One document in the child. */
export interface Original {
  readonly bytes: Buffer;
  readonly filename: string;
  readonly ocr: "auto" | "on" | "off";
  /** Tesseract's names, those that are installed. */
  readonly languages: readonly string[];
  /** Paths of programs, or null. */
  readonly tesseract: string | null;
  readonly soffice: string | null;
  readonly maxPages: number;
  /** An empty directory for files in between; emptied by the caller. */
  readonly scratch: string;
  onProgress(progress: PageProgress): void;
  /** Notes what a reader of the Markdown should know. */
  warn(text: string): void;
}

/** What a format gives: Markdown in pieces, not yet normalised, and the number of pages once all pieces are read. */
export interface Markdown {
  readonly text: AsyncIterable<string> | Iterable<string>;
  pages(): number | null;
}

/** The name of a type that is found by content. */
export type FileType =
  | "pdf"
  | "docx"
  | "pptx"
  | "sheet"
  | "csv"
  | "tsv"
  | "html"
  | "md"
  | "txt"
  | "json"
  | "jsonl"
  | "zip"
  | "image"
  | "legacy";

/** Markdown of a document without pages. */
export function withoutPages(text: Markdown["text"]): Markdown {
  return { text, pages: () => null };
}
