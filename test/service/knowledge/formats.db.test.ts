import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { KNOWN_TYPES } from "../../../src/service/knowledge/parse/types.ts";
import { startStandingService, type StandingService } from "../harness/standing-service.ts";
import { DOCUMENTS } from "./parse/harness.ts";

interface Facts {
  readonly tables: readonly (readonly string[])[];
  readonly order: readonly string[];
}

/** Documents of real programs by the name they are uploaded with, and a text of each. */
const FACTS = JSON.parse(await readFile(join(DOCUMENTS, "facts.json"), "utf8")) as Record<string, Facts>;
/** Other endings of the same types. */
const OTHER_NAMES: Readonly<Record<string, string>> = { "article.htm": "article.html", "scan.jpeg": "scan.jpg" };
/** One of each type: how well the others are read is a matter of the parser's own tests. */
const NAMES = [...Object.keys(FACTS), ...Object.keys(OTHER_NAMES)].filter(
  (name, at, all) => all.findIndex((other) => extname(other) === extname(name)) === at,
);

let service: StandingService;
let kbId: string;
const fileIds = new Map<string, string>();
/** Extensions that need a program which is not here. */
const missing = new Set<string>();

// PGlite alone: what is proved is the way from a document's lines to a hit, which no engine has a part in.
beforeAll(async () => {
  service = await startStandingService();
  // Small, so that a document has several.
  kbId = await service.knowledgeBase({ chunking: { target_tokens: 100, max_tokens: 128, overlap_tokens: 10 } });
  const { types } = (await service.call("GET", "/api/knowledge/files/supported-types")).body;
  for (const { extension, available } of types) if (available !== true) missing.add(extension);
  const key = await service.key();
  const names = NAMES.filter((name) => !missing.has(extname(name).slice(1)));
  const items: string[] = [];
  for (const name of names) items.push(await upload(key, name));
  const { body } = await service.call("POST", `/api/knowledge/databases/${kbId}/documents`, {
    items,
    params: { auto_index: true },
  });
  for (const [at, name] of names.entries()) fileIds.set(name, body.file_ids[at]);
  await service.ended(body.task_id);
}, 180_000);

async function upload(key: string, name: string): Promise<string> {
  const form = new FormData();
  form.set("file", new Blob([await readFile(join(DOCUMENTS, OTHER_NAMES[name] ?? name))]), name);
  const address = `${service.url}/api/knowledge/files/upload?kb_id=${kbId}&allow_duplicate=true`;
  const answer = await fetch(address, { method: "POST", headers: { authorization: `Bearer ${key}` }, body: form });
  const body = JSON.parse(await answer.text());
  expect(answer.status, JSON.stringify(body)).toBe(200);
  return body.file_path;
}

test("there is a document of every type that is taken", () => {
  expect([...new Set(NAMES.map((name) => extname(name).slice(1)))].toSorted()).toEqual(
    Object.keys(KNOWN_TYPES).toSorted(),
  );
});

describe.each(NAMES)("%s", (name) => {
  test("its text is found, and every hit opens at its lines, on its page, with its table's header", async ({
    skip,
  }) => {
    const fileId = fileIds.get(name);
    if (fileId === undefined) skip(`no program here reads .${extname(name).slice(1)}`);
    const external = `/api/knowledge/databases/external/${kbId}`;
    const file = `/api/knowledge/databases/${kbId}/documents/${fileId}`;
    const record = (await service.call("GET", file)).body.file;
    expect(record).toMatchObject({ status: "indexed", error: null });
    const lines = (await service.call("GET", `${file}/content`)).text.split("\n");
    expect(record.lines).toBe(lines.length - 1);

    const { tables, order } = FACTS[OTHER_NAMES[name] ?? name] ?? { tables: [], order: [] };
    const sentences = order.filter((text) => !text.startsWith("<!-- page"));
    expect(sentences.length).toBeGreaterThan(0);
    for (const text of [...sentences, ...tables.flatMap((rows) => rows.slice(1))]) {
      const answer = await service.call("POST", `${external}/retrieve`, {
        query: text,
        file_ids: [fileId],
        options: { final_top_k: 20 },
      });
      const shown = [];
      for (const { content, metadata } of answer.body.results) {
        const { start_line: first, end_line: last, page } = metadata;
        const { body: opened } = await service.call(
          "GET",
          `${external}/files/${fileId}/open?offset=${first - 1}&limit=${last - first + 1}`,
        );
        expect(opened).toMatchObject({ start_line: first, end_line: last, total_lines: record.lines });
        // A later part of a table has the header's rows before it: they stand further up.
        const elsewhere = content.split("\n").filter((line: string) => !opened.content.includes(line));
        expect(elsewhere.filter((line: string) => !line.startsWith("|"))).toEqual([]);
        expect(page).toBe(pageAt(lines, first));
        shown.push({ content, opened: opened.content });
      }
      const found = shown.filter(({ opened }) => opened.includes(text));
      expect(found.length, `${text} in ${JSON.stringify(shown)}`).toBeGreaterThan(0);
      const header = tables.find((rows) => rows.slice(1).includes(text))?.[0];
      if (header !== undefined) expect(found.map(({ content }) => content.includes(header))).toContain(true);
    }
  });
});

/** The page of a line, by the marks before it; null where there are none. */
function pageAt(lines: readonly string[], line: number): number | null {
  const marks = lines.slice(0, line).flatMap((text) => /^<!-- page (\d+) -->$/.exec(text)?.[1] ?? []);
  return marks.length === 0 ? null : Number(marks.at(-1));
}
