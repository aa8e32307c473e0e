import { extractImages } from "unpdf";
import { ParseFailed } from "../../failures.ts";
import type { Original } from "../format.ts";
import { recognise } from "../ocr.ts";
import type { PdfDocument } from "./page-items.ts";

/** Pictures smaller than this have no lines of text. */
const MIN_PIXELS = 20_000;

/** Reads pages that have no text from their pictures, by page. @throws {ParseFailed} `no_text` when no page has text */
export async function recogniseScans(
  original: Original,
  pdf: PdfDocument,
  pages: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const texts = new Map<number, string>();
  if (pages.length === 0) return texts;
  const isAll = pages.length === pdf.numPages;
  const isPossible = original.ocr !== "off" && original.tesseract !== null && original.languages.length > 0;
  if (!isPossible) {
    if (original.ocr === "on") throw new ParseFailed("ocr_unavailable", "tesseract or its languages are not installed");
    if (isAll) throw new ParseFailed("no_text", "the pages are pictures, and there is no OCR");
    original.warn(`${pages.length} pages have no text`);
    return texts;
  }
  for (const number of pages) {
    const text = await recognisePage(original, pdf, number);
    if (text !== "") texts.set(number, text);
    original.onProgress({ page: number, pages: pdf.numPages });
  }
  if (isAll && texts.size === 0) throw new ParseFailed("no_text", "OCR found no text");
  if (texts.size > 0) original.warn("ocr");
  return texts;
}

async function recognisePage(original: Original, pdf: PdfDocument, number: number): Promise<string> {
  const parts: string[] = [];
  for (const image of await extractImages(pdf, number)) {
    if (image.width * image.height < MIN_PIXELS) continue;
    parts.push(await recognise(original, toPnm(image), `page-${number}.pnm`));
  }
  return parts.filter((part) => part !== "").join("\n\n");
}

/** Pixels in the simplest format that tesseract reads; transparency is paper. */
function toPnm({
  data,
  width,
  height,
  channels,
}: {
  data: Uint8ClampedArray;
  width: number;
  height: number;
  channels: 1 | 3 | 4;
}): Buffer {
  const colours = channels === 1 ? 1 : 3;
  const header = Buffer.from(`${colours === 1 ? "P5" : "P6"}\n${width} ${height}\n255\n`);
  if (channels !== 4) return Buffer.concat([header, Buffer.from(data)]);
  const pixels = Buffer.alloc(width * height * 3);
  for (let from = 0, to = 0; to < pixels.length; from += 4, to += 3) {
    const alpha = (data[from + 3] ?? 255) / 255;
    for (let part = 0; part < 3; part += 1) pixels[to + part] = (data[from + part] ?? 0) * alpha + 255 * (1 - alpha);
  }
  return Buffer.concat([header, pixels]);
}
