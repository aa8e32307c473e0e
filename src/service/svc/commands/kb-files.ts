import { Files } from "../answers.ts";
import { readAnswer } from "../client.ts";
import type { Context } from "../context.ts";
import { formatBytes, table } from "../../../kit/command-line/text.ts";

export interface FilesOptions {
  readonly kbId: string;
  readonly query?: string;
  readonly status?: string;
  readonly offset?: number;
  readonly limit?: number;
}

/** Lists files, or searches their names. */
export async function listFiles({ client, terminal }: Context, options: FilesOptions): Promise<void> {
  const { kbId, query, status, offset, limit } = options;
  const path = `/api/knowledge/databases/external/${encodeURIComponent(kbId)}/files`;
  const answer = await (await client()).call({ method: "GET", path, query: { query, status, offset, limit } });
  const page = readAnswer(Files, answer);
  if (page.files.length === 0) terminal.notice("no file");
  else
    terminal.text(
      table(
        ["FILE ID", "STATUS", "SIZE", "CHANGED", "NAME"],
        page.files.map((file) => [
          file.file_id,
          file.status,
          formatBytes(file.file_size),
          file.updated_at.slice(0, 16).replace("T", " "),
          file.source_path ?? file.filename,
        ]),
      ),
    );
  if (page.has_more) {
    const end = page.offset + page.files.length;
    terminal.notice(`${page.offset + 1} to ${end} of ${page.total}; go on with --offset ${end}`);
  }
  terminal.json(answer);
}
