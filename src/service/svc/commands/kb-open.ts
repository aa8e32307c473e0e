import { Lines } from "../answers.ts";
import { readAnswer } from "../client.ts";
import type { Context } from "../context.ts";
import { safeText } from "../../../kit/command-line/text.ts";

export interface OpenOptions {
  readonly kbId: string;
  readonly fileId: string;
  readonly offset?: number;
  readonly limit?: number;
  readonly all?: boolean;
  readonly plain?: boolean;
}

/** The most that one call gives. */
const MOST_LINES = 1_800;

/** Shows the parsed Markdown of a file. */
export async function openFile({ client: connect, terminal }: Context, options: OpenOptions): Promise<void> {
  const client = await connect();
  const path = `/api/knowledge/databases/external/${encodeURIComponent(options.kbId)}/files/${encodeURIComponent(options.fileId)}/open`;
  const limit = options.all === true ? MOST_LINES : options.limit;
  const contents: string[] = [];
  for (let offset = options.offset; ;) {
    const answer = await client.call({ method: "GET", path, query: { offset, limit } });
    const window = readAnswer(Lines, answer);
    if (window.start_line > 0) terminal.text(show(window, options.plain === true));
    if (options.all !== true) {
      terminal.json(answer);
      return tellRest(terminal.notice, window);
    }
    if (window.start_line > 0) contents.push(window.content);
    if (window.next_offset === null) {
      // One document of all the windows, in the shape of one.
      terminal.json({
        ...window,
        start_line: contents.length === 0 ? 0 : (options.offset ?? 0) + 1,
        content: contents.join("\n"),
      });
      return undefined;
    }
    offset = window.next_offset;
  }
}

type Window = ReturnType<typeof Lines.parse>;

function show({ content, start_line: start }: Window, isPlain: boolean): string {
  const text = safeText(content.replace(/\n$/, ""));
  if (isPlain) return text;
  return text
    .split("\n")
    .map((line, index) => `${String(start + index).padStart(6)}  ${line}`.trimEnd())
    .join("\n");
}

function tellRest(notice: (text: string) => void, window: Window): void {
  const { start_line: start, end_line: end, total_lines: total, next_offset: next } = window;
  if (start === 0) notice(`no line there: the file has ${total}`);
  else if (next !== null) notice(`lines ${start} to ${end} of ${total}; go on with --offset ${next}, or --all`);
}
