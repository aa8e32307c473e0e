import { SaxesParser } from "saxes";
import { ParseFailed } from "../failures.ts";

/** Deepest nesting of the XML of an office document; Word's own stay below 100. */
const MAX_DEPTH = 500;

/** An element with its name as written, prefix included. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly (XmlElement | string)[];
}

interface OpenElement extends XmlElement {
  readonly children: (XmlElement | string)[];
}

/** Reads XML as a tree. @throws {ParseFailed} `corrupt` also for a document type, which can name files and grow */
export function parseXml(text: string): XmlElement {
  const root: OpenElement = { name: "", attributes: {}, children: [] };
  const open: OpenElement[] = [root];
  const parser = new SaxesParser({ xmlns: false });
  let failure: Error | undefined;
  parser.on("error", (error) => {
    failure ??= new ParseFailed("corrupt", `XML: ${error.message}`);
  });
  parser.on("doctype", () => {
    failure ??= new ParseFailed("corrupt", "XML with a document type is refused");
  });
  parser.on("text", (piece) => open.at(-1)?.children.push(piece));
  parser.on("cdata", (piece) => open.at(-1)?.children.push(piece));
  parser.on("opentag", ({ name, attributes }) => {
    const element: OpenElement = { name, attributes: { ...attributes }, children: [] };
    open.at(-1)?.children.push(element);
    open.push(element);
    if (open.length > MAX_DEPTH) failure ??= new ParseFailed("too_deep", `XML nested deeper than ${MAX_DEPTH}`);
  });
  parser.on("closetag", () => open.pop());
  for (let at = 0; at < text.length && failure === undefined; at += 65_536) parser.write(text.slice(at, at + 65_536));
  if (failure === undefined) parser.close();
  if (failure !== undefined) throw failure;
  return root;
}

/** All elements of a name below, in the document's order, none within another of them. */
export function findAll(element: XmlElement, name: string): XmlElement[] {
  return element.children.flatMap((child) => {
    if (typeof child === "string") return [];
    return child.name === name ? [child] : findAll(child, name);
  });
}

/** The first of them. */
export function find(element: XmlElement, name: string): XmlElement | undefined {
  for (const child of element.children) {
    if (typeof child === "string") continue;
    const found = child.name === name ? child : find(child, name);
    if (found !== undefined) return found;
  }
  return undefined;
}
