import { z } from "zod";
import { NOTION_HEADERS } from "./notion-headers.ts";
import type { Remote } from "./remote.ts";

const Text = z.array(z.object({ plain_text: z.string() }));
const Content = z.object({
  rich_text: Text.optional(),
  title: z.string().optional(),
  language: z.string().optional(),
  checked: z.boolean().optional(),
  cells: z.array(Text).optional(),
});

/** What is read of a block: its kind's own field has the content. Source: Notion's API 2022-06-28, "Block". */
const Block = z.looseObject({ id: z.string(), type: z.string(), has_children: z.boolean() });
type Block = z.infer<typeof Block>;
const Children = z.object({ results: z.array(Block), has_more: z.boolean(), next_cursor: z.string().nullable() });

const LEVELS = 2;
const BLOCKS = 300;
/** Passages are made and counted between two other calls of the service. */
const CHARACTERS = 50_000;

/** A page as Markdown. `isCut`: there is more of it than is read. */
export interface PageMarkdown {
  readonly markdown: string;
  readonly isCut: boolean;
}

/** Reads a page's blocks, two levels deep. @throws {ApiProblem} connector_* */
export async function readPageMarkdown(remote: Remote, pageId: string, signal: AbortSignal): Promise<PageMarkdown> {
  const lines: string[] = [];
  let left = BLOCKS;
  let isCut = false;

  async function read(id: string, level: number): Promise<void> {
    for (let cursor: string | null = null; ;) {
      const after = cursor === null ? "" : `&start_cursor=${encodeURIComponent(cursor)}`;
      const path = `/v1/blocks/${encodeURIComponent(id)}/children?page_size=100${after}`;
      const shape = Children;
      const page: z.infer<typeof Children> = await remote.ask(
        { method: "GET", path, headers: NOTION_HEADERS, shape },
        signal,
      );
      for (const block of page.results) {
        if (left === 0) {
          isCut = true;
          return;
        }
        left -= 1;
        lines.push(...render(block, level));
        // A page inside a page is a page of its own.
        const isOwn = block.type !== "child_page" && block.type !== "child_database";
        if (block.has_children && isOwn && level < LEVELS) await read(block.id, level + 1);
        else if (block.has_children && isOwn) isCut = true;
      }
      if (!page.has_more || page.next_cursor === null) return;
      cursor = page.next_cursor;
    }
  }

  await read(pageId, 1);
  const markdown = lines.join("\n");
  return { markdown: markdown.slice(0, CHARACTERS).toWellFormed(), isCut: isCut || markdown.length > CHARACTERS };
}

/** The lines of a block; of a kind that has no text, none. */
function render(block: Block, level: number): string[] {
  const content = Content.safeParse(block[block.type]);
  if (!content.success) return [];
  const { rich_text, title, language, checked, cells } = content.data;
  const text = (rich_text ?? []).map(({ plain_text: part }) => part).join("");
  const indent = "  ".repeat(level - 1);
  switch (block.type) {
    case "heading_1":
    case "heading_2":
    case "heading_3":
      return ["", `${"#".repeat(Number(block.type.slice(-1)))} ${text.replaceAll("\n", " ")}`, ""];
    case "bulleted_list_item":
      return [`${indent}- ${text}`];
    case "numbered_list_item":
      return [`${indent}1. ${text}`];
    case "to_do":
      return [`${indent}- [${checked === true ? "x" : " "}] ${text}`];
    case "quote":
    case "callout":
      return ["", ...text.split("\n").map((line) => `> ${line}`), ""];
    case "code":
      return ["", `\`\`\`${language ?? ""}`, text, "```", ""];
    case "table_row":
      return [`| ${(cells ?? []).map(cellText).join(" | ")} |`];
    case "child_page":
      return [`- ${title ?? ""}`];
    default:
      return text === "" ? [] : ["", text, ""];
  }
}

function cellText(parts: z.infer<typeof Text>): string {
  return parts
    .map(({ plain_text: text }) => text)
    .join("")
    .replaceAll("|", "\\|")
    .replaceAll("\n", "<br>");
}
