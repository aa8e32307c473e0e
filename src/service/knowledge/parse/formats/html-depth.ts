import { ParseFailed } from "../failures.ts";

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
export function assertShallowHtml(html: string): void {
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
