import type { ExternalFiles, Found, Opened, Retrieved } from "../protocol/knowledge-queries.ts";
import type { BaseRow } from "../knowledge/state/access.ts";

/** Answers as a model reads them best: short lines of text, with the ids that the next call needs. */
export function showFiles({ files, total, offset, has_more: hasMore }: ExternalFiles): string {
  const lines = files.map(({ file_id: id, filename, status }) => `${id}  ${filename}  ${status}`);
  const more = hasMore ? [`… ${total} in all: go on with offset ${offset + files.length}`] : [];
  return lines.length === 0 ? "No such file." : [...lines, ...more].join("\n");
}

export function showHits({ id, name }: BaseRow, results: Retrieved["results"]): string {
  if (results.length === 0) return `Nothing was found in ${id} (${name}).`;
  const hits = results.map(({ file_id: fileId, content, metadata }, index) => {
    const { source, heading, start_line: start, end_line: end, page } = metadata;
    const place = [
      `${source} lines ${start}-${end}`,
      ...(page === null ? [] : [`page ${page}`]),
      ...(heading === "" ? [] : [heading]),
    ].join(", ");
    return `[${index + 1}] ${place} (file_id ${fileId}, kb_id ${id})\n${content}`;
  });
  return hits.join("\n\n");
}

export function showOpened(opened: Opened): string {
  const { filename, total_lines: total, start_line: start, end_line: end, next_offset: next, content } = opened;
  if (start === 0) return `${filename} has ${total} lines: nothing is there.`;
  const more = next === null ? "" : `\n… go on with start_line ${next + 1}`;
  return `${filename}, lines ${start}-${end} of ${total}\n${content}${more}`;
}

export function showFound({ total_matches: total, windows, next_after_line: next }: Found): string {
  if (windows.length === 0) return "No line matches.";
  const shown = windows.map(
    ({ start_line: start, end_line: end, matched_lines: matched, content }) =>
      `lines ${start}-${end}, matched ${matched.join(", ")}\n${content}`,
  );
  const more = next === null ? [] : [`… go on with after_line ${next}`];
  return [`${total} matching lines`, ...shown, ...more].join("\n\n");
}
