import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createEmbedder } from "../../../../src/service/knowledge/models/embed.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { openDesk, type Desk } from "../../harness/knowledge.ts";
import { freshStorage } from "../../harness/storage.ts";
import { startWebServer } from "../../harness/web-server.ts";
import { DOCUMENTS, parserOfTest } from "../parse/harness.ts";

// What hangs here never ends by itself: that a task ends at all proves that the cancel reached it. PostgreSQL alone: what is
// proved does not ask the database. The target of 2 s is printed, not asserted: a loaded machine decides nothing.

test("a cancel ends a task whose parser and recogniser of text hang, and their processes", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const recogniser = join(directory, "tesseract");
  const mark = join(directory, "pid");
  // It is run as itself first, for its languages.
  writeFileSync(
    recogniser,
    `#!/bin/sh\n[ "$1" = --list-langs ] && exec echo eng\necho $$ > ${mark}.new && mv ${mark}.new ${mark}\nexec sleep 100000\n`,
    { mode: 0o755 },
  );
  // One child, so that it is clear which has the document.
  const parser = await parserOfTest({ ocr: recogniser, timeoutMs: 3_600_000, children: 1 });
  const desk = await openDesk(await freshStorage("postgres"), {
    parser,
    limits: { filesAtOnce: 2, maxFileBytes: 10_000_000 },
  });
  const parse = async (filename: string, content: string | Buffer) => {
    const { body } = await desk.upload(filename, content);
    const added = await desk.ask("POST", `${desk.path}/documents`, { items: [body.file_path] });
    return { taskId: added.body.task_id, fileId: added.body.file_ids[0] };
  };
  const scan = await parse("scan.png", readFileSync(join(DOCUMENTS, "scan.png")));
  const recogniserPid = Number(await waitFor("the recogniser", () => existsSync(mark) && readFileSync(mark, "utf8")));
  const first = parserChildren();
  await cancel(desk, scan.taskId, "while text is recognised");
  await waitFor("the recogniser's end", () => !isRunning(recogniserPid));

  // A document that takes seconds, in a process that is stopped, takes for ever.
  const huge = await parse("huge.html", `<body>${"<p>some words in a paragraph".repeat(200_000)}`);
  await waitFor("the claim", async () => (await desk.file(huge.fileId)).status === "parsing");
  const stopped = await waitFor("the parser", () => {
    const pids = parserChildren().filter((pid) => !first.includes(pid));
    return pids.length > 0 ? pids : undefined;
  });
  for (const pid of stopped) process.kill(pid, "SIGSTOP");
  await cancel(desk, huge.taskId, "inside a huge document");
  await waitFor("the parser's end", () => stopped.every((pid) => !isRunning(pid)));
  for (const { fileId } of [scan, huge])
    expect(await desk.file(fileId)).toMatchObject({ status: "uploaded", error: null });
});

test("a cancel ends a task that waits for embeddings, behind another's too", async () => {
  const held: ServerResponse[] = [];
  const server = await startWebServer((_received, response) => void held.push(response));
  const embedder = createEmbedder({ baseUrl: `${server.url}/v1`, key: undefined, models: ["m-1"], batch: 1 });
  const desk = await openDesk(await freshStorage("postgres"), { embedder });
  const revision = (await desk.ask("GET", desk.path)).body.database.revision;
  await desk.ask("PUT", desk.path, { revision, embedding_model_spec: "m-1" });
  // Three chunks, a call for every one.
  const ingest = async (name: string): Promise<{ task_id: string; file_ids: string[] }> => {
    const items = [(await desk.upload(name, `${name} ${"and more words ".repeat(300)}`)).body.file_path];
    return (await desk.ask("POST", `${desk.path}/documents`, { items, params: { auto_index: true } })).body;
  };
  // The first takes all places of calls to the server; the second is of another kind, and so has a place of its own.
  const first = await ingest("a.md");
  await waitFor("the calls", () => held.length === 2);
  const fileId = await desk.add("b.md", "b and a few words");
  await desk.ended((await desk.ask("POST", `${desk.path}/documents/parse`, [fileId])).body.task_id);
  const second = (await desk.ask("POST", `${desk.path}/documents/index`, [fileId])).body;
  await waitFor("the second's claim", async () => (await desk.file(fileId)).status === "indexing");
  await cancel(desk, second.task_id, "behind another's embedding");
  await cancel(desk, first.task_id, "in an embedding call");
  // Nothing was answered, and nothing more was asked: the calls were given up.
  expect(held).toHaveLength(2);
  await waitFor("the connections' end", () => held.every(({ destroyed }) => destroyed));
  for (const id of [...first.file_ids, fileId])
    expect(await desk.file(id)).toMatchObject({ status: "parsed", error: null, chunk_count: 0 });
});

async function cancel(desk: Desk, taskId: string, when: string): Promise<void> {
  const startedAt = performance.now();
  await desk.ask("POST", `/api/tasks/${taskId}/cancel`);
  expect((await desk.ended(taskId)).status).toBe("cancelled");
  // oxlint-disable-next-line no-console -- a figure for the reader of the run
  console.info(`a cancel ${when}: ${Math.round(performance.now() - startedAt)} ms`);
}

/** Parser children of this process. */
function parserChildren(): number[] {
  return readdirSync("/proc/self/task")
    .flatMap((thread) => readFileSync(`/proc/self/task/${thread}/children`, "utf8").split(" "))
    .filter(Boolean)
    .map(Number)
    .filter((pid) => commandLine(pid).includes("/parse/child.ts"));
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    // It has ended meanwhile.
    return "";
  }
}

/** One that has ended and was not waited for yet has no command line. */
function isRunning(pid: number): boolean {
  return commandLine(pid) !== "";
}
