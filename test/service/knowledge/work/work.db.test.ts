import { expect, test } from "vitest";
import { waitFor } from "../../../harness/wait-for.ts";
import { createTextParser } from "../../harness/text-parser.ts";
import { openDesk } from "../../harness/knowledge.ts";
import { freshStorage } from "../../harness/storage.ts";

/** A parse that waits until it is let go on, by file name. */
function createGate() {
  const waiting = new Map<string, () => void>();
  let isOpen = false;
  return {
    waiting,
    async onParse(filename: string, signal: AbortSignal): Promise<void> {
      if (isOpen) return;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const stop = (): void => reject(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      waiting.set(filename, resolve);
      await promise.finally(() => signal.removeEventListener("abort", stop));
    },
    open(): void {
      isOpen = true;
      for (const resolve of waiting.values()) resolve();
    },
  };
}

test("a task reports which file it is at, never goes back, and succeeds whatever becomes of the files", async () => {
  const gate = createGate();
  const { onParse } = gate;
  const desk = await openDesk(await freshStorage("postgres"), {
    parser: createTextParser({ onParse }),
    limits: { filesAtOnce: 1 },
  });
  const { ask, path } = desk;
  const items = [];
  for (const name of ["a.md", "bad.md", "c.md"])
    items.push((await desk.upload(name, `# ${name}\n\nText.`)).body.file_path);
  const { body } = await ask("POST", `${path}/documents`, { items, params: { auto_index: true } });
  expect(body).toMatchObject({ status: "queued" });
  const seen: [number, string][] = [];
  for (const [at, name] of ["a.md", "bad.md", "c.md"].entries()) {
    const go = await waitFor(`the parse of ${name}`, () => gate.waiting.get(name));
    const task = await waitFor(`its note of ${name}`, async () => {
      const found = await desk.task(body.task_id);
      return found.message === `parsing ${at + 1} of 3: ${name}, page 1 of 1` ? found : undefined;
    });
    expect((await desk.file(body.file_ids[at])).progress).toMatchObject({ task_id: body.task_id });
    seen.push([task.progress, task.message]);
    go();
  }
  expect(await desk.ended(body.task_id)).toMatchObject({
    status: "success",
    progress: 100,
    result: { total: 3, parsed: 2, indexed: 2, failed: 1, skipped: 0 },
  });
  const percents = seen.map(([percent]) => percent);
  expect(percents).toEqual([0, 33, 66]);
  const states = await Promise.all(body.file_ids.map(async (id: string) => (await desk.file(id)).status));
  expect(states).toEqual(["indexed", "error_parsing", "indexed"]);
  expect((await desk.file(body.file_ids[1])).error).toMatchObject({ code: "corrupt", retryable: false });
});

test("a task that is cancelled ends, and its files are where they were", async () => {
  const gate = createGate();
  const desk = await openDesk(await freshStorage("postgres"), { parser: createTextParser(gate) });
  const { ask, path } = desk;
  const ids = [await desk.add("a.md", "# A\n\nText."), await desk.add("b.md", "# B\n\nText.")];
  const { body } = await ask("POST", `${path}/documents/parse`, ids);
  await waitFor("both parses", () => gate.waiting.size === 2);
  expect(await ask("POST", `${path}/documents/parse`, ids)).toMatchObject({
    status: 409,
    body: { detail: { code: "file_busy", files: [{ status: "parsing" }, { status: "parsing" }] } },
  });
  await ask("POST", `/api/tasks/${body.task_id}/cancel`);
  // Its parses are not let go on: it ends by the cancel alone. How soon: cancel.db.test.ts prints it.
  expect((await desk.ended(body.task_id)).status).toBe("cancelled");
  expect(gate.waiting.size).toBe(2);
  for (const id of ids) expect(await desk.file(id)).toMatchObject({ status: "uploaded", error: null });
  const claims = await desk.storage.db.selectFrom("knowledge_file").select(["tries", "claim_task"]).execute();
  expect(claims).toEqual([
    { tries: 0, claim_task: null },
    { tries: 0, claim_task: null },
  ]);
  gate.open();
  const again = await ask("POST", `${path}/documents/parse`, { file_ids: ids });
  expect(await desk.ended(again.body.task_id)).toMatchObject({ status: "success", result: { parsed: 2 } });
  expect(await ask("POST", `${path}/documents/parse`, ids)).toMatchObject({
    status: 409,
    body: { detail: { code: "file_state_conflict" } },
  });
  const forced = await ask("POST", `${path}/documents/parse`, { file_ids: ids, params: { force: true } });
  expect(await desk.ended(forced.body.task_id)).toMatchObject({ result: { parsed: 2 } });
});

test("what is pending is done by one task, those that came while it worked included", async () => {
  const gate = createGate();
  const desk = await openDesk(await freshStorage("postgres"), { parser: createTextParser(gate) });
  const { ask, path } = desk;
  const pending = (what: "parse" | "index", params = {}) =>
    ask("POST", `${path}/documents/${what}-pending`, { params }).then(({ body }) => body);
  expect(await pending("parse")).toMatchObject({ status: "success", task_id: null, queued_count: 0 });
  const first = [await desk.add("a.md", "# A\n\nText."), await desk.add("bad.md", "# B\n\nText.")];
  const queued = await pending("parse");
  expect(queued).toMatchObject({ status: "queued", queued_count: 2, joined: false });
  await waitFor("both parses", () => gate.waiting.size === 2);
  // The task has read all ids that there were.
  const late = await desk.add("late.md", "# Late\n\nText.");
  expect(await pending("parse")).toMatchObject({ task_id: queued.task_id, queued_count: 1, joined: true });
  gate.open();
  expect(await desk.ended(queued.task_id)).toMatchObject({ status: "success", result: { parsed: 2, failed: 1 } });
  const states = await Promise.all([...first, late].map(async (id) => (await desk.file(id)).status));
  expect(states).toEqual(["parsed", "error_parsing", "parsed"]);
  // What failed is taken only when asked for.
  expect(await pending("parse")).toMatchObject({ queued_count: 0 });
  const retried = await pending("parse", { include_failed: true });
  expect(retried).toMatchObject({ queued_count: 1, joined: false });
  expect(await desk.ended(retried.task_id)).toMatchObject({ result: { total: 1, failed: 1 } });
  const indexing = await pending("index");
  expect(indexing).toMatchObject({ queued_count: 2 });
  expect(await desk.ended(indexing.task_id)).toMatchObject({ result: { indexed: 2 } });
  expect((await ask("GET", path)).body.database.counts).toMatchObject({
    indexed: 2,
    error_parsing: 1,
    pending_index: 0,
  });
});
