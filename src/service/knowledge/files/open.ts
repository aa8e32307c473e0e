import type { Opened, OpenQuery } from "../../protocol/knowledge-queries.ts";
import type { Objects } from "../../storage/objects.ts";
import type { Storage } from "../../storage/storage.ts";
import type { BaseRow } from "../state/access.ts";
import { findParsed } from "./files.ts";
import type { Readable } from "node:stream";

/** A window of a file's Markdown, by lines. Beyond the end it is empty. @throws {ApiProblem} file_not_found, file_not_parsed */
export async function openFile(
  { storage, objects }: { storage: Storage; objects: Objects },
  base: BaseRow,
  fileId: string,
  { offset, limit, numbered }: OpenQuery,
): Promise<Opened> {
  const file = await findParsed(storage.db, base.id, fileId);
  const lines: string[] = [];
  if (offset < file.lines) {
    let number = 0;
    for await (const line of readLines(await objects.get(file.markdown_key))) {
      number += 1;
      if (number > offset) lines.push(numbered === "true" ? `${number}\t${line}` : line);
      if (lines.length === limit) break;
    }
  }
  const end = offset + lines.length;
  const isEmpty = lines.length === 0;
  const hasMore = !isEmpty && end < file.lines;
  return {
    file_id: file.id,
    filename: file.filename,
    offset,
    window_size: lines.length,
    start_line: isEmpty ? 0 : offset + 1,
    end_line: isEmpty ? 0 : end,
    total_lines: file.lines,
    has_more_before: offset > 0 && file.lines > 0,
    has_more_after: hasMore,
    next_offset: hasMore ? end : null,
    content: lines.join("\n"),
  };
}

/** The lines of a stored Markdown, in order, without their ends; an end at the very end makes no line. */
async function* readLines(source: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let rest = "";
  try {
    for await (const part of source) {
      if (!(part instanceof Uint8Array)) throw new Error("objects are read as bytes");
      const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
    rest += decoder.decode();
    if (rest !== "") yield rest;
  } finally {
    source.destroy();
  }
}
