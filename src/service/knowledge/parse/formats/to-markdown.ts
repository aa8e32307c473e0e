import { gfm } from "@joplin/turndown-plugin-gfm";
import TurndownService from "turndown";

/** Turns HTML into Markdown. From a string: a tree of another library loses rows of tables. */
export function htmlToMarkdown(html: string): string {
  const service = new TurndownService({
    headingStyle: "atx",
    codeBlockStyle: "fenced",
    bulletListMarker: "-",
    emDelimiter: "*",
    hr: "---",
  });
  service.use(gfm);
  service.remove(["script", "style", "noscript", "template", "iframe", "object", "button", "select"]);
  service.addRule("image", {
    filter: "img",
    replacement: (_content, node) => {
      const text =
        node
          .getAttribute("alt")
          ?.replace(/[[\]\s]+/g, " ")
          .trim() ?? "";
      return `![${text === "" ? "image" : text}]`;
    },
  });
  // A target within the document, or of a script, is of no use in the Markdown.
  service.addRule("anchor", {
    filter: (node) => node.nodeName === "A" && !/^(https?|mailto):/i.test(node.getAttribute("href") ?? ""),
    replacement: (content) => content,
  });
  return service.turndown(html);
}
