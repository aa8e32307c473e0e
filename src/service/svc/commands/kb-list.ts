import { Bases } from "../answers.ts";
import { readAnswer } from "../client.ts";
import type { Context } from "../context.ts";
import { table } from "../../../kit/command-line/text.ts";

export interface ListOptions {
  readonly query?: string;
  readonly skip?: number;
  readonly limit?: number;
}

/** Lists the knowledge bases that the caller may read. */
export async function listBases({ client, terminal }: Context, { query, skip, limit }: ListOptions): Promise<void> {
  const path = "/api/knowledge/databases/external";
  const answer = await (await client()).call({ method: "GET", path, query: { query, skip, limit } });
  const { databases, total } = readAnswer(Bases, answer);
  if (databases.length === 0) terminal.notice("no knowledge base that you may read");
  else
    terminal.text(
      table(
        ["KB ID", "TYPE", "FILES", "MANAGE", "NAME"],
        databases.map((base) => [
          base.kb_id,
          base.kb_type,
          String(base.file_count),
          base.can_manage ? "yes" : "no",
          base.name,
        ]),
      ),
    );
  if (databases.length < total) terminal.notice(`${databases.length} of ${total}; go on with --skip`);
  terminal.json(answer);
}
