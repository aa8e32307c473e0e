import { getDocumentProxy } from "unpdf";
import { ParseFailed } from "../failures.ts";
import { escapeLine, toTable } from "./escape.ts";
import type { Markdown, Original } from "./format.ts";
import { toBlocks, type PageBlock } from "./pdf/blocks.ts";
import { createHeadingFinder, type OutlineEntry } from "./pdf/headings.ts";
import { readPage, type PdfDocument } from "./pdf/page-items.ts";
import { withoutRunningHeads, type PageItems } from "./pdf/running-heads.ts";
import { recogniseScans } from "./pdf/scans.ts";

const MAX_OUTLINE = 5_000;
const MAX_OUTLINE_DEPTH = 20;

/** A PDF: its text, laid out again. Pages without text are read by OCR where there is one. */
export async function parsePdf(original: Original): Promise<Markdown> {
  const pdf = await open(original.bytes);
  if (pdf.numPages > original.maxPages) {
    throw new ParseFailed("too_many_pages", `${pdf.numPages} pages, over ${original.maxPages}`);
  }
  const fonts = new Map<string, string>();
  const pages: PageItems[] = [];
  for (let number = 1; number <= pdf.numPages; number += 1) {
    pages.push(await readPage(pdf, number, fonts));
    original.onProgress({ page: number, pages: pdf.numPages });
  }
  const blocks = withoutRunningHeads(pages).map(({ items }) => toBlocks(items));
  const headingOf = createHeadingFinder(blocks, await outlineOf(pdf), (font) =>
    /bold|black|heavy|demi/i.test(fonts.get(font) ?? ""),
  );
  const scans = await recogniseScans(
    original,
    pdf,
    pages.flatMap(({ items }, index) => (items.length === 0 ? [index + 1] : [])),
  );
  const text = blocks.map((page, index) => {
    const body = page.length === 0 ? (scans.get(index + 1) ?? "") : toMarkdown(page, headingOf);
    return `<!-- page ${index + 1} -->\n\n${body}\n\n`;
  });
  return { text, pages: () => pdf.numPages };
}

async function open(bytes: Buffer): Promise<PdfDocument> {
  try {
    return await getDocumentProxy(new Uint8Array(bytes), {
      verbosity: 0,
      disableFontFace: true,
      useSystemFonts: false,
      stopAtErrors: false,
      maxImageSize: 100_000_000,
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof Error && error.name === "PasswordException") {
      throw new ParseFailed("encrypted", "the document needs a password", { cause: error });
    }
    throw new ParseFailed("corrupt", message, { cause: error });
  }
}

function toMarkdown(
  blocks: readonly PageBlock[],
  headingOf: (block: Extract<PageBlock, { kind: "text" }>) => number,
): string {
  let indents: number[] = [];
  let out = "";
  for (const block of blocks) {
    if (block.kind === "table") {
      indents = [];
      out += `\n\n${toTable(block.rows)}\n\n`;
    } else if (block.bullet) {
      indents = [...indents.filter((x) => x < block.x - block.size * 0.5), block.x];
      out += `\n${"  ".repeat(indents.length - 1)}- ${block.text}`;
    } else {
      indents = [];
      const level = headingOf(block);
      out += level > 0 ? `\n\n${"#".repeat(level)} ${block.text}\n\n` : `\n\n${escapeLine(block.text)}\n\n`;
    }
  }
  return out;
}

/** The document's own table of contents. Damage in it costs nothing but the outline. */
async function outlineOf(pdf: PdfDocument): Promise<OutlineEntry[]> {
  const entries: OutlineEntry[] = [];
  const add = (nodes: readonly OutlineNode[], level: number): void => {
    for (const { title, items } of nodes) {
      if (entries.length >= MAX_OUTLINE) return;
      entries.push({ title, level });
      if (level < MAX_OUTLINE_DEPTH) add(items, level + 1);
    }
  };
  try {
    add((await pdf.getOutline()) ?? [], 1);
  } catch {
    return [];
  }
  return entries;
}

interface OutlineNode {
  readonly title: string;
  readonly items: readonly OutlineNode[];
}
