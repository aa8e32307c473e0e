import { convert } from "./convert.ts";
import { parseDocx } from "./docx.ts";
import type { Markdown, Original } from "./format.ts";
import { parsePptx } from "./pptx.ts";

/** Texts and slides in formats that only LibreOffice reads. @param from - `doc`, `rtf`, `odt`, `ppt`, `odp` */
export async function parseLegacy(original: Original, from: string): Promise<Markdown> {
  const areSlides = from === "ppt" || from === "odp";
  const bytes = await convert(original, from, areSlides ? "pptx" : "docx");
  const converted = { ...original, bytes };
  return areSlides ? await parsePptx(converted) : await parseDocx(converted);
}
