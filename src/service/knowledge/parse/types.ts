import type { FileType } from "./formats/format.ts";

/** What an extension stands for. */
export interface KnownType {
  readonly fileType: FileType;
  /** Types of one family may stand in for one another: an `.xls` that is an xlsx is read as what it is. */
  readonly family: "pdf" | "word" | "slides" | "sheet" | "text" | "image" | "zip";
  /** The libraries or programs that read it. */
  readonly parser: string;
  /** The optional program without which it cannot be read. */
  readonly needs?: "ocr" | "converter";
}

const text = (fileType: FileType, parser: string): KnownType => ({ fileType, family: "text", parser });
const image: KnownType = { fileType: "image", family: "image", parser: "tesseract", needs: "ocr" };
const word: KnownType = {
  fileType: "legacy",
  family: "word",
  parser: "libreoffice, mammoth 1.13.0",
  needs: "converter",
};
const slides: KnownType = { fileType: "legacy", family: "slides", parser: "libreoffice, pptx", needs: "converter" };
const sheet: KnownType = { fileType: "sheet", family: "sheet", parser: "xlsx 0.20.3" };

/** Every extension that is known, without a dot. */
export const KNOWN_TYPES: Readonly<Record<string, KnownType>> = {
  pdf: { fileType: "pdf", family: "pdf", parser: "unpdf 1.8.1" },
  docx: { fileType: "docx", family: "word", parser: "mammoth 1.13.0" },
  pptx: { fileType: "pptx", family: "slides", parser: "pptx" },
  xlsx: sheet,
  xls: sheet,
  ods: sheet,
  csv: text("csv", "csv-parse 7.0.3"),
  tsv: text("tsv", "csv-parse 7.0.3"),
  html: text("html", "readability 0.6.0, turndown 7.2.5"),
  htm: text("html", "readability 0.6.0, turndown 7.2.5"),
  md: text("md", "text"),
  txt: text("txt", "text"),
  json: text("json", "json"),
  jsonl: text("jsonl", "json"),
  zip: { fileType: "zip", family: "zip", parser: "zip" },
  png: image,
  jpg: image,
  jpeg: image,
  tiff: image,
  bmp: image,
  webp: image,
  doc: word,
  rtf: word,
  odt: word,
  ppt: slides,
  odp: slides,
};

/** The extension of a name, lower case, without a dot; empty when there is none. */
export function extensionOf(filename: string): string {
  return /\.([A-Za-z0-9]{1,10})$/.exec(filename)?.[1]?.toLowerCase() ?? "";
}
