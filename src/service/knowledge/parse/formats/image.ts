import { ParseFailed } from "../failures.ts";
import { withoutPages, type Markdown, type Original } from "./format.ts";
import { recognise } from "./ocr.ts";

/** A picture of text. */
export async function parseImage(original: Original): Promise<Markdown> {
  if (original.ocr === "off") throw new ParseFailed("no_text", "an image has no text, and OCR is off");
  const text = await recognise(original, original.bytes, "image");
  if (text === "") throw new ParseFailed("no_text", "OCR found no text in the image");
  original.warn("ocr");
  return withoutPages([text]);
}
