import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import { type Markdown, type Original, withoutPages } from "./format.ts";
import { readText } from "./text.ts";
import { htmlToMarkdown } from "./to-markdown.ts";
import { ParseFailed } from "../failures.ts";

// Two trees: Readability needs one that has all of the DOM that it changes, linkedom's. turndown reads a string into a tree
// of its own, domino's, since its plugin for tables loses rows in others.
/** What is around the text of a page. */
const AROUND = "nav, script, style, noscript, template, iframe, svg, form, [hidden], [aria-hidden=true]";
/** Elements of the text itself, whose names Readability must not use as a sign: a heading `Remarks` is no column of remarks. */
const TEXT =
  "h1, h2, h3, h4, h5, h6, p, ul, ol, li, dl, dt, dd, table, thead, tbody, tr, td, th, pre, code, blockquote";
/** The article is taken if it has so much of the page's text; otherwise the page is no article. */
const ARTICLE_SHARE = 0.5;

/** A page: its article, where it has one, otherwise its body without what is around the text. */
export function parseHtml(original: Original): Markdown {
  const html = [...readText(original)].join("");
  assertShallowHtml(html);
  const document = documentOf(html);
  const mains = [...document.querySelectorAll("h1")].map((heading) => plain(heading.textContent));
  const title = plain(document.querySelector("title")?.textContent);
  const body = htmlToMarkdown(document.body?.outerHTML ?? "");
  const article = readArticle(html, mains.length);
  if (article === undefined || visible(article) < visible(body) * ARTICLE_SHARE) {
    return withoutPages([/^# /m.test(body) ? body : titled(title, body)]);
  }
  return withoutPages([titled(mains.length === 1 ? (mains[0] ?? "") : title, article)]);
}

/**
 * The article below its title. Readability makes a main heading one of the second level, and drops it where it says what the
 * title says; so of one main heading nothing is left but the title, and of several all headings go one level down.
 */
function readArticle(html: string, mains: number): string | undefined {
  const document = documentOf(mains > 1 ? lowered(html) : html);
  for (const element of document.querySelectorAll(TEXT)) {
    element.removeAttribute("class");
    element.removeAttribute("id");
  }
  if (mains === 1) document.querySelector("h1")?.remove();
  const content = new Readability(document).parse()?.content ?? "";
  return content === "" ? undefined : htmlToMarkdown(content);
}

function lowered(html: string): string {
  return html.replace(
    /(<\/?h)([1-5])(?=[\s>])/gi,
    (_tag, start: string, level: string) => `${start}${Number(level) + 1}`,
  );
}

function documentOf(html: string): Document {
  const { document } = parseHTML(/<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`);
  for (const element of document.querySelectorAll(AROUND)) element.remove();
  return document;
}

function titled(title: string, markdown: string): string {
  return title === "" ? markdown : `# ${title}\n\n${markdown}`;
}

function plain(text: string | null | undefined): string {
  return (text ?? "").replace(/\s+/g, " ").trim();
}

function visible(text: string): number {
  return text.replace(/\s+/g, "").length;
}

const MAX_DEPTH = 2_000;
/** Elements that have no end, or whose end may be left out. */
const WITHOUT_END = new Set(
  `area base br col embed hr img input link meta param source track wbr p li dt dd tr td th thead tbody tfoot option optgroup
  colgroup rt rp html head body`.split(/\s+/),
);

/**
 * Refuses HTML that is nested too deep, before a tree is built: what walks such a tree recurses, or takes the square of its
 * depth. @throws {ParseFailed} `too_deep`
 */
function assertShallowHtml(html: string): void {
  let depth = 0;
  const tags = /<(\/?)([A-Za-z][A-Za-z0-9:-]{0,30})|<!--/g;
  for (let match = tags.exec(html); match !== null; match = tags.exec(html)) {
    const [, slash = "", written] = match;
    if (written === undefined) {
      tags.lastIndex = after(html, "-->", tags.lastIndex);
      continue;
    }
    const name = written.toLowerCase();
    if (WITHOUT_END.has(name)) continue;
    depth = slash === "" ? depth + 1 : Math.max(depth - 1, 0);
    if (depth > MAX_DEPTH) throw new ParseFailed("too_deep", `HTML nested deeper than ${MAX_DEPTH}`);
    // Their text is no markup.
    if (slash === "" && (name === "script" || name === "style")) tags.lastIndex = after(html, "</", tags.lastIndex);
  }
}

function after(html: string, end: string, from: number): number {
  const at = html.indexOf(end, from);
  return at === -1 ? html.length : at;
}
