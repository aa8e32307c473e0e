import { detectType, type Detected } from "./detect.ts";
import { ParseFailed } from "./failures.ts";
import { parseCsv } from "./formats/csv.ts";
import type { Markdown, Original } from "./formats/format.ts";
import { parseJson, parseJsonLines } from "./formats/json.ts";
import { parseMarkdown, parsePlainText } from "./formats/text.ts";
import { parseZip } from "./formats/zip.ts";

/** A document that was recognised and opened. */
export interface Opened {
  readonly markdown: Markdown;
  readonly fileType: string;
  readonly parser: string;
}

/** Reads a document of any type. @throws {ParseFailed}, or whatever a library throws */
export async function parseOriginal(original: Original): Promise<Opened> {
  const type = detectType(original.bytes, original.filename);
  return { markdown: await read(original, type), fileType: type.name, parser: type.parser };
}

/** Large libraries are loaded when the first document needs them. */
async function read(original: Original, { fileType, name }: Detected): Promise<Markdown> {
  switch (fileType) {
    case "pdf":
      return await (await import("./formats/pdf.ts")).parsePdf(original);
    case "docx":
      return await (await import("./formats/docx.ts")).parseDocx(original);
    case "pptx":
      return await (await import("./formats/pptx.ts")).parsePptx(original);
    case "sheet":
      return await (await import("./formats/sheet.ts")).parseSheet(original);
    case "html":
      return (await import("./formats/html.ts")).parseHtml(original);
    case "image":
      return await (await import("./formats/image.ts")).parseImage(original);
    case "legacy":
      return await (await import("./formats/legacy.ts")).parseLegacy(original, name);
    case "csv":
    case "tsv":
      return parseCsv(original, fileType === "tsv");
    case "md":
      return parseMarkdown(original);
    case "txt":
      return parsePlainText(original);
    case "json":
      return parseJson(original);
    case "jsonl":
      return parseJsonLines(original);
    case "zip":
      return await parseZip(original, parseMember);
  }
}

/** Archives in archives are not opened: what they hold is not counted by the outer one's gate. */
async function parseMember(original: Original): Promise<Opened> {
  const { name } = detectType(original.bytes, original.filename);
  if (name === "zip") throw new ParseFailed("unsupported_type", "an archive in an archive");
  return await parseOriginal(original);
}
