import mammoth from "mammoth";
import { openArchive } from "../archive.ts";
import { withoutPages, type Markdown, type Original } from "./format.ts";
import { htmlToMarkdown } from "./to-markdown.ts";
import { xmlGate } from "./xml-gate.ts";

/** Styles that mammoth has no rule for. Names of Word, pandoc, LibreOffice. */
const STYLES = [
  "p[style-name='Title'] => h1:fresh",
  "p[style-name='Subtitle'] => p:fresh",
  ...["Source Code", "Code", "HTML Preformatted", "Preformatted Text", "Macro Text", "Plain Text"].map(
    (name) => `p[style-name='${name}'] => pre:separator('\n')`,
  ),
  ...["Verbatim Char", "HTML Code", "Source Text", "Code Char"].map((name) => `r[style-name='${name}'] => code`),
  ...["Quote", "Intense Quote", "Block Text", "Quotations"].map(
    (name) => `p[style-name='${name}'] => blockquote > p:fresh`,
  ),
];

/** A document of Word. */
export async function parseDocx(original: Original): Promise<Markdown> {
  await openArchive(original.bytes, xmlGate);
  const { value, messages } = await mammoth.convertToHtml(
    { buffer: original.bytes },
    {
      styleMap: STYLES,
      externalFileAccess: false,
      convertImage: mammoth.images.imgElement(async (image) => await Promise.resolve({ src: image.contentType })),
    },
  );
  for (const { type, message } of messages) if (type === "error") original.warn(message);
  return withoutPages([htmlToMarkdown(withHeaders(withCode(value)))]);
}

/** What turndown takes for code. */
function withCode(html: string): string {
  return html.replace(
    /<pre>(.*?)<\/pre>/gs,
    (_pre, code: string) => `<pre><code>${code.replace(/<br ?\/?>/g, "\n")}</code></pre>`,
  );
}

/** mammoth marks a header only where the document does; a table of GFM needs one, and nearly all have it. */
function withHeaders(html: string): string {
  return html.replace(/<table><tr>(.*?)<\/tr>/gs, (table, row: string) => {
    if (row.includes("<table")) return table;
    const cells = row.replace(/<td/g, "<th").replace(/<\/td>/g, "</th>");
    return `<table><thead><tr>${cells}</tr></thead>`;
  });
}
