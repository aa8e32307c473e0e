import { Base } from "../answers.ts";
import { readAnswer } from "../client.ts";
import type { Context } from "../context.ts";
import { safeLine, table } from "../../../kit/command-line/text.ts";

/** Shows how far the files of a knowledge base are. */
export async function showStatus({ client, terminal }: Context, { kbId }: { readonly kbId: string }): Promise<void> {
  const path = `/api/knowledge/databases/${encodeURIComponent(kbId)}`;
  const answer = await (await client()).call({ method: "GET", path });
  const { database } = readAnswer(Base, answer);
  const { counts, index } = database;
  const engines = [index.lexical, index.vector].filter((engine) => engine !== null).map((engine) => safeLine(engine));
  terminal.text(
    `${terminal.bold(safeLine(database.name))}  ${safeLine(database.kb_id)}  ${safeLine(database.kb_type)}  ${engines.join(", ")}`,
  );
  terminal.text(
    table(
      ["STATE", "FILES"],
      Object.entries(counts)
        .filter(([name]) => name !== "chunks" && !name.startsWith("pending_"))
        .map(([name, files]) => [name, String(files)]),
    ),
  );
  terminal.text(`${counts["chunks"] ?? 0} chunks can be found`);
  const id = safeLine(database.kb_id);
  if ((counts["pending_parse"] ?? 0) > 0) terminal.notice(`go on: svc kb parse --kb-id ${id} --pending --wait`);
  else if ((counts["pending_index"] ?? 0) > 0) terminal.notice(`go on: svc kb index --kb-id ${id} --pending --wait`);
  terminal.json(answer);
}
