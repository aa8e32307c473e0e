import { defined } from "../../../kit/defined.ts";
import { Hits } from "../answers.ts";
import { readAnswer } from "../client.ts";
import type { Context } from "../context.ts";
import { count, safeLine, safeText } from "../../../kit/command-line/text.ts";

export interface QueryOptions {
  readonly kbId: string;
  readonly topK?: number;
  readonly mode?: string;
  readonly fileName?: string;
}

/** Asks a knowledge base; every hit has its file and its lines. */
export async function query(context: Context, words: readonly string[], options: QueryOptions): Promise<void> {
  const { client, terminal } = context;
  const { kbId, topK, mode, fileName } = options;
  const answer = await (
    await client()
  ).call({
    method: "POST",
    path: `/api/knowledge/databases/external/${encodeURIComponent(kbId)}/retrieve`,
    isRepeatable: true,
    body: {
      query: words.join(" "),
      ...defined({ file_name: fileName }),
      options: {
        ...defined({ final_top_k: topK, search_mode: mode }),
      },
    },
  });
  const { results, warnings, index, search_mode: searched, took_ms: ms } = readAnswer(Hits, answer);
  for (const [rank, hit] of results.entries()) terminal.text(showHit(terminal.bold, rank + 1, hit));
  for (const warning of warnings) terminal.warn(`svc: warning: ${safeLine(warning)}`);
  const by = [index.lexical, index.vector].filter((engine) => engine !== null).map((engine) => safeLine(engine));
  terminal.notice(`${count(results.length, "hit")} by ${safeLine(searched)} search (${by.join(", ")}), ${ms} ms`);
  const first = results.find(({ metadata: { start_line: line } }) => line !== null);
  if (first !== undefined) {
    const { start_line: start, end_line: end } = first.metadata;
    terminal.notice(
      `open one: svc kb open --kb-id ${safeLine(kbId)} --file-id ${safeLine(first.file_id)} ` +
        `--offset ${(start ?? 1) - 1} --limit ${(end ?? 1) - (start ?? 1) + 1}`,
    );
  }
  terminal.json(answer);
}

type Hit = ReturnType<typeof Hits.parse>["results"][number];

function showHit(
  bold: (text: string) => string,
  rank: number,
  { score, content, file_id: fileId, metadata }: Hit,
): string {
  const { start_line: start, end_line: end, page, heading, source_url: url } = metadata;
  const lines = start === null ? "" : `:${start}-${end ?? start}`;
  const place = `${safeLine(metadata.source_path ?? metadata.source)}${lines}`;
  const about = [
    safeLine(fileId),
    ...(page === null ? [] : [`page ${page}`]),
    ...(heading === "" ? [] : [safeLine(heading)]),
    ...(url === null ? [] : [safeLine(url)]),
  ];
  const text = safeText(content.trimEnd())
    .split("\n")
    .map((line) => `    ${line}`.trimEnd())
    .join("\n");
  return `${rank}. ${score.toFixed(3)}  ${bold(place)}\n   ${about.join("  ")}\n\n${text}\n`;
}
