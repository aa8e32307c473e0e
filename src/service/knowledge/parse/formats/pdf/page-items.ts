import type { getDocumentProxy } from "unpdf";
import type { TextItem } from "./geometry.ts";
import type { PageItems } from "./running-heads.ts";

export type PdfDocument = Awaited<ReturnType<typeof getDocumentProxy>>;

/** A text of pdf.js; its transform is of the page, which may itself be turned. */
interface PdfText {
  readonly str: string;
  readonly transform: readonly number[];
  readonly width: number;
  readonly height: number;
  readonly fontName: string;
}

/** Pages on which fonts are looked up: loading them means reading all drawing of a page. */
const FONT_PAGES = 30;

/**
 * The text of a page with its places; the direction in which most is written is made horizontal, other text is left out
 * unless it is a good part of the page.
 *
 * @param fonts - names of fonts by pdf.js' own; filled as fonts are met
 */
export async function readPage(pdf: PdfDocument, number: number, fonts: Map<string, string>): Promise<PageItems> {
  const page = await pdf.getPage(number);
  try {
    const view = page.getViewport({ scale: 1 });
    const content = await page.getTextContent({ includeMarkedContent: false });
    const texts = content.items.flatMap((item) => ("str" in item && item.str.trim() !== "" ? [item as PdfText] : []));
    const unknown = new Set(texts.map(({ fontName }) => fontName).filter((font) => !fonts.has(font)));
    if (number <= FONT_PAGES && unknown.size > 0) await learnFonts(page, unknown, fonts);
    const placed = texts.map((text) => place(text, view.transform));
    const angle = mainAngle(placed);
    const items = placed.filter((one) => one.angle === angle).map((one) => turn(one, angle, view));
    return { items, height: angle % 2 === 0 ? view.height : view.width };
  } finally {
    page.cleanup();
  }
}

interface Placed {
  readonly item: TextItem;
  /** Quarter turns. */
  readonly angle: number;
}

function place(text: PdfText, [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0]: readonly number[]): Placed {
  const [ta = 1, tb = 0, tc = 0, td = 1, x = 0, y = 0] = text.transform;
  const [right, down] = [a * ta + c * tb, b * ta + d * tb];
  const quarter = Math.round(Math.atan2(down, right) / (Math.PI / 2));
  const size = Math.round(Math.hypot(a * tc + c * td, b * tc + d * td) * 10) / 10;
  return {
    angle: (quarter + 4) % 4,
    item: {
      text: plain(text.str),
      x: a * x + c * y + e,
      y: b * x + d * y + f,
      width: text.width,
      size,
      font: text.fontName,
    },
  };
}

/** Fonts name some Han characters by their radicals, and some letters by their ligatures. */
function plain(text: string): string {
  return text.replace(/[\u2e80-\u2fdf\ufb00-\ufb06]/g, (sign) => sign.normalize("NFKC"));
}

function mainAngle(placed: readonly Placed[]): number {
  const counts = [0, 0, 0, 0];
  for (const { angle, item } of placed) counts[angle] = (counts[angle] ?? 0) + item.text.length;
  return counts.indexOf(Math.max(...counts));
}

/** A place on the page turned so that its text is horizontal. */
function turn({ item }: Placed, angle: number, { width, height }: { width: number; height: number }): TextItem {
  const { x, y } = item;
  if (angle === 1) return { ...item, x: y, y: width - x };
  if (angle === 2) return { ...item, x: width - x, y: height - y };
  if (angle === 3) return { ...item, x: height - y, y: x };
  return item;
}

async function learnFonts(
  page: Awaited<ReturnType<PdfDocument["getPage"]>>,
  unknown: ReadonlySet<string>,
  fonts: Map<string, string>,
): Promise<void> {
  // Resolved once, whether it is known then or not.
  for (const font of unknown) fonts.set(font, "");
  try {
    await page.getOperatorList();
  } catch {
    // Damage in the drawing of a page costs the names of its fonts, no more.
    return;
  }
  for (const font of unknown) {
    if (!page.commonObjs.has(font)) continue;
    const found: unknown = page.commonObjs.get(font);
    if (typeof found === "object" && found !== null && "name" in found) fonts.set(font, String(found.name));
  }
}
