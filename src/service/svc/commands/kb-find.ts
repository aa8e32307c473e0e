import { defined } from "../../../kit/defined.ts";
import { Windows } from "../answers.ts";
import { readAnswer } from "../client.ts";
import type { Context } from "../context.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { count, safeText } from "../../../kit/command-line/text.ts";

export interface FindOptions {
  readonly kbId: string;
  readonly fileId: string;
  readonly pattern: readonly string[];
  readonly regex?: boolean;
  readonly caseSensitive?: boolean;
  readonly maxWindows?: number;
  readonly windowSize?: number;
  readonly afterLine?: number;
}

/** Finds words or expressions in a file. @returns `failed` without a match, as grep */
export async function find({ client, terminal }: Context, options: FindOptions): Promise<ExitCode> {
  const { kbId, fileId, pattern, regex, caseSensitive, maxWindows, windowSize, afterLine } = options;
  const answer = await (
    await client()
  ).call({
    method: "POST",
    path: `/api/knowledge/databases/external/${encodeURIComponent(kbId)}/files/${encodeURIComponent(fileId)}/find`,
    isRepeatable: true,
    body: {
      patterns: pattern,
      use_regex: regex === true,
      case_sensitive: caseSensitive === true,
      ...defined({ max_windows: maxWindows, window_size: windowSize, after_line: afterLine }),
    },
  });
  const found = readAnswer(Windows, answer);
  if (found.windows.length > 0)
    terminal.text(found.windows.map((window) => show(terminal.bold, window)).join("\n  --\n"));
  const more =
    found.has_more && found.next_after_line !== null ? `; go on with --after-line ${found.next_after_line}` : "";
  terminal.notice(`${count(found.total_matches, "matching line")} of ${found.total_lines}${more}`);
  terminal.json(answer);
  return found.total_matches === 0 ? EXIT.failed : EXIT.done;
}

type Window = ReturnType<typeof Windows.parse>["windows"][number];

/** A line that matches begins with `>`. */
function show(bold: (text: string) => string, { start_line: start, matched_lines: matched, content }: Window): string {
  const isMatch = new Set(matched);
  return safeText(content.replace(/\n$/, ""))
    .split("\n")
    .map((line, index) => {
      const number = start + index;
      const shown = `${String(number).padStart(6)}  ${line}`.trimEnd();
      return isMatch.has(number) ? bold(`>${shown}`) : ` ${shown}`.trimEnd();
    })
    .join("\n");
}
