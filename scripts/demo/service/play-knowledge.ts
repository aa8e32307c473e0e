import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { z } from "zod";
import { KnowledgeBaseAnswer } from "../../../src/service/protocol/knowledge-bases.ts";
import { Opened, Retrieved } from "../../../src/service/protocol/knowledge-queries.ts";
import { expectThat } from "../expect-that.ts";
import type { ServiceClient } from "./service-client.ts";

const ROOT = join(import.meta.dirname, "../../..");
const QUESTION = "what happens to a thread that is deleted";
const NOTE = "# A note\n\nPanels flutter in fast flow.\n";

const Uploaded = z.object({ added: z.int(), already_there: z.int(), failed: z.array(z.unknown()) });

/** Uploads a folder to a knowledge base with `svc`, asks a question and opens the lines of its answer. */
export async function playKnowledge(
  { client, key }: { readonly client: ServiceClient; readonly key: string },
  { url, base, signal }: { readonly url: string; readonly base: string; readonly signal: AbortSignal },
): Promise<void> {
  const { database } = await client.post(KnowledgeBaseAnswer, "/api/knowledge/databases", { name: "demo" });
  const folder = join(base, "library");
  await mkdir(join(folder, "notes"), { recursive: true });
  for (const name of ["service.md", "knowledge.md", "svc.md"]) await cp(join(ROOT, "docs", name), join(folder, name));
  await writeFile(join(folder, "notes/note.md"), NOTE);

  /** Runs a command as a person would, in a home of the demo's own; an exit code that is not 0 is a fault. */
  async function svc(args: readonly string[], input = ""): Promise<string> {
    console.log(`  $ svc ${args.map((word) => (word.includes(" ") ? `"${word}"` : word)).join(" ")}`);
    const { stdout } = await execa(process.execPath, [join(ROOT, "src/service/svc/main.ts"), ...args], {
      env: { PATH: process.env["PATH"] ?? "", HOME: join(base, "svc-home") },
      extendEnv: false,
      input,
      cancelSignal: signal,
    });
    return stdout;
  }
  const show = (text: string): void => console.log(text.replaceAll(/^(?=.)/gm, "    "));

  show(await svc(["login", "--url", url, "--api-key-stdin"], key));
  const kb = ["--kb-id", database.kb_id];
  const first = Uploaded.parse(JSON.parse(await svc(["kb", "upload", folder, ...kb, "--json"])));
  expectThat(first.added === 4 && first.failed.length === 0, "four files are added", JSON.stringify(first));
  const second = Uploaded.parse(JSON.parse(await svc(["kb", "upload", folder, ...kb, "--json"])));
  expectThat(second.added === 0 && second.already_there === 4, "again nothing is added", JSON.stringify(second));
  console.log("  ✓ a folder of four files is uploaded; uploaded again, nothing is added");
  show(await svc(["kb", "parse", ...kb, "--pending", "--wait"]));
  show(await svc(["kb", "index", ...kb, "--pending", "--wait"]));
  const { results, index } = Retrieved.parse(JSON.parse(await svc(["kb", "query", QUESTION, ...kb, "--json"])));
  const [hit] = results;
  const { source, start_line: start, end_line: end } = hit?.metadata ?? {};
  const isFound = source === "service.md" && typeof start === "number" && typeof end === "number";
  expectThat(isFound, "the answer is in service.md, with its lines", JSON.stringify(hit?.metadata));
  console.log(`  ✓ "${QUESTION}": ${source}, lines ${start} to ${end}, found by ${index.lexical}`);
  const lines = ["--offset", String((start ?? 1) - 1), "--limit", String((end ?? 1) - (start ?? 1) + 1)];
  const opened = await svc(["kb", "open", ...kb, "--file-id", hit?.file_id ?? "", ...lines, "--json"]);
  const { content, start_line: from } = Opened.parse(JSON.parse(opened));
  const firstLine = hit?.content.split("\n")[0] ?? "";
  expectThat(from === start && content.includes(firstLine), "the hit opens at its lines", content.slice(0, 200));
  show(content.split("\n").slice(0, 4).join("\n"));
  console.log("  ✓ the hit opens at its lines");
}
