import { openArchive, type Archive } from "../archive.ts";
import { ParseFailed } from "../failures.ts";
import { escapeLine, toTable } from "./escape.ts";
import type { Markdown, Original } from "./format.ts";
import { xmlGate } from "./xml-gate.ts";
import { find, findAll, parseXml, type XmlElement } from "./xml.ts";

const PRESENTATION = "ppt/presentation.xml";

/** A presentation: a page a slide, in the order in which it is shown. */
export async function parsePptx(original: Original): Promise<Markdown> {
  const archive = await openArchive(original.bytes, xmlGate);
  const slides = await slidePaths(archive);
  if (slides.length > original.maxPages)
    throw new ParseFailed("too_many_pages", `${slides.length} slides, over ${original.maxPages}`);
  return { text: slideTexts(original, archive, slides), pages: () => slides.length };
}

async function* slideTexts(original: Original, archive: Archive, slides: readonly string[]): AsyncGenerator<string> {
  for (const [index, path] of slides.entries()) {
    const slide = await readXml(archive, path);
    const related = await relations(archive, path);
    const notes = [...related.values()].find((target) => target.includes("notesSlide"));
    const parts = [`<!-- page ${index + 1} -->`, ...shapesOf(slide)];
    if (notes !== undefined && archive.names.includes(notes)) parts.push(...notesOf(await readXml(archive, notes)));
    original.onProgress({ page: index + 1, pages: slides.length });
    yield `${parts.join("\n\n")}\n\n`;
  }
}

/** The slides' paths in the order of the presentation, not of their names. */
async function slidePaths(archive: Archive): Promise<string[]> {
  const presentation = await readXml(archive, PRESENTATION);
  const related = await relations(archive, PRESENTATION);
  return findAll(presentation, "p:sldId").flatMap(({ attributes }) => {
    const path = related.get(attributes["r:id"] ?? "");
    return path !== undefined && archive.names.includes(path) ? [path] : [];
  });
}

async function relations(archive: Archive, path: string): Promise<ReadonlyMap<string, string>> {
  const at = path.lastIndexOf("/") + 1;
  const file = `${path.slice(0, at)}_rels/${path.slice(at)}.rels`;
  if (!archive.names.includes(file)) return new Map();
  const found = findAll(await readXml(archive, file), "Relationship");
  return new Map(
    found.flatMap(({ attributes }) => {
      const { Id: id, Target: target, TargetMode: mode } = attributes;
      if (id === undefined || target === undefined || mode === "External") return [];
      // Relative to the file, or to the archive where it begins with a slash.
      return [[id, new URL(target, `zip:/${path}`).pathname.slice(1)] as const];
    }),
  );
}

async function readXml(archive: Archive, path: string): Promise<XmlElement> {
  const bytes = await archive.read(path);
  if (bytes === undefined) throw new ParseFailed("corrupt", `the presentation lacks ${path}`);
  return parseXml(bytes.toString("utf8").replace(/^\ufeff/, ""));
}

/** Titles first, then what else is on the slide, in its order. */
function shapesOf(slide: XmlElement): string[] {
  const titles: string[] = [];
  const others: string[] = [];
  for (const shape of shapesBelow(find(slide, "p:spTree"))) {
    if (shape.name === "p:pic") others.push("![image]");
    else if (shape.name === "p:graphicFrame") others.push(...findAll(shape, "a:tbl").map(tableOf));
    else {
      const kind = find(shape, "p:ph")?.attributes["type"] ?? "";
      // What a slide's master prints: date, footer and number.
      if (["dt", "ftr", "sldNum"].includes(kind)) continue;
      if (kind === "title" || kind === "ctrTitle") titles.push(headingOf(shape));
      else others.push(paragraphsOf(shape, find(shape, "p:ph") !== undefined && kind !== "subTitle"));
    }
  }
  return [...titles, ...others].filter((text) => text !== "");
}

function shapesBelow(tree: XmlElement | undefined): XmlElement[] {
  return (tree?.children ?? []).flatMap((child) => {
    if (typeof child === "string") return [];
    if (child.name === "p:grpSp") return shapesBelow(child);
    if (child.name === "mc:AlternateContent") return shapesBelow(find(child, "mc:Choice"));
    return ["p:sp", "p:graphicFrame", "p:pic"].includes(child.name) ? [child] : [];
  });
}

function headingOf(shape: XmlElement): string {
  const text = findAll(shape, "a:p").map(textOf).join(" ").replace(/\s+/g, " ").trim();
  return text === "" ? "" : `## ${text}`;
}

/** Paragraphs; in the body of a slide they are bullets unless one is marked otherwise. */
function paragraphsOf(shape: XmlElement, isBody: boolean): string {
  const lines = findAll(shape, "a:p").flatMap((paragraph) => {
    const text = textOf(paragraph).replace(/\s+/g, " ").trim();
    if (text === "") return [];
    const properties = paragraph.children.find((child) => typeof child !== "string" && child.name === "a:pPr");
    const settings = typeof properties === "object" ? properties : undefined;
    const level = Number(settings?.attributes["lvl"] ?? 0);
    const isPlain = settings !== undefined && find(settings, "a:buNone") !== undefined;
    const isBullet =
      !isPlain && (isBody || (settings !== undefined && /^a:bu(Char|AutoNum|Blip)$/m.test(namesIn(settings))));
    return isBullet ? [`${"  ".repeat(level)}- ${text}`] : ["", escapeLine(text), ""];
  });
  return lines.join("\n").trim();
}

function namesIn(element: XmlElement): string {
  return element.children.map((child) => (typeof child === "string" ? "" : child.name)).join("\n");
}

function tableOf(table: XmlElement): string {
  return toTable(
    findAll(table, "a:tr").map((row) =>
      findAll(row, "a:tc").map((cell) => findAll(cell, "a:p").map(textOf).join("\n")),
    ),
  );
}

function notesOf(notes: XmlElement): string[] {
  const bodies = findAll(notes, "p:sp").filter((shape) => find(shape, "p:ph")?.attributes["type"] === "body");
  const lines = bodies.flatMap((body) => findAll(body, "a:p").map(textOf)).filter((line) => line.trim() !== "");
  return lines.length === 0 ? [] : [["> Notes:", ...lines.map((line) => `> ${escapeLine(line.trim())}`)].join("\n")];
}

/** The text of a paragraph, its line breaks as such. */
function textOf(element: XmlElement): string {
  return element.children
    .map((child) => {
      if (typeof child === "string" || child.name === "a:pPr") return "";
      if (child.name === "a:br") return "\n";
      return child.name === "a:t" ? child.children.filter((part) => typeof part === "string").join("") : textOf(child);
    })
    .join("");
}
