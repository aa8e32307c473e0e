import { openArchive, type Archive } from "../archive.ts";
import { ParseFailed } from "../failures.ts";
import { createNormaliser } from "../normalise.ts";
import { withoutPages, type Markdown, type Original } from "./format.ts";

/** How a member is read: as a document of its own. */
export type ParseMember = (original: Original) => Promise<{ readonly markdown: Markdown; readonly fileType: string }>;

const MAX_LISTED = 200;

/** An archive as one document: a heading a member, then the member with its headings one level down. */
export async function parseZip(original: Original, parseMember: ParseMember): Promise<Markdown> {
  const archive = await openArchive(original.bytes);
  return withoutPages(membersOf(original, archive, parseMember));
}

async function* membersOf(original: Original, archive: Archive, parseMember: ParseMember): AsyncGenerator<string> {
  const left: string[] = [];
  let read = 0;
  for (const name of archive.names) {
    // What systems put beside files.
    if (/(^|\/)(__MACOSX\/|\.DS_Store$|Thumbs\.db$)/.test(name)) continue;
    try {
      yield* memberOf(original, archive, name, parseMember);
      read += 1;
    } catch (error) {
      if (!(error instanceof ParseFailed)) throw error;
      left.push(`${name} (${error.code})`);
    }
  }
  if (read === 0)
    throw new ParseFailed("empty_document", `no member of the archive could be read: ${left.slice(0, 5).join(", ")}`);
  if (left.length === 0) return;
  original.warn(`${left.length} members were not read`);
  const listed = left.slice(0, MAX_LISTED).map((entry) => `- ${entry.replace(/\s+/g, " ")}`);
  if (left.length > MAX_LISTED) listed.push(`- and ${left.length - MAX_LISTED} more`);
  yield `\n\n# Members not read\n\n${listed.join("\n")}\n`;
}

async function* memberOf(
  original: Original,
  archive: Archive,
  name: string,
  parseMember: ParseMember,
): AsyncGenerator<string> {
  const bytes = await archive.read(name);
  if (bytes === undefined) throw new Error(`the archive lost ${name}`);
  const warn = (text: string): void => original.warn(`${name}: ${text}`);
  // Pages of members are not pages of the archive.
  const { markdown } = await parseMember({ ...original, bytes, filename: name, warn, onProgress: () => {} });
  const normaliser = createNormaliser();
  const lower = createHeadingShift();
  let isFirst = true;
  for await (const piece of markdown.text) {
    const text = lower(normaliser.push(piece));
    if (isFirst && text.trim() !== "") {
      yield `\n\n# ${name.replace(/\s+/g, " ")}\n\n`;
      isFirst = false;
    }
    yield text;
  }
  const rest = lower(normaliser.end());
  if (isFirst && rest.trim() === "") throw new ParseFailed("empty_document", "no text");
  yield `${isFirst ? `\n\n# ${name.replace(/\s+/g, " ")}\n\n` : ""}${rest}`;
}

/** Puts headings one level down, and leaves page marks out; takes whole lines. */
function createHeadingShift(): (text: string) => string {
  let fence = "";
  return (text) =>
    text
      .split("\n")
      .flatMap((line) => {
        const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
        if (fence === "" && mark !== undefined) fence = mark;
        else if (fence !== "") {
          if (line.trim() !== "" && line.trim() === fence.charAt(0).repeat(Math.max(line.trim().length, fence.length)))
            fence = "";
        } else if (/^#{1,5} /.test(line)) return [`#${line}`];
        else if (/^<!-- page \d+ -->$/.test(line)) return [];
        return [line];
      })
      .join("\n");
}
