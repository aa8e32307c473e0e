import { existsSync, readdirSync, readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { deleteOrphans, sweepKnowledge } from "../../../../src/service/knowledge/sweep.ts";
import { KNOWLEDGE_STEPS, type KnowledgeStep } from "../../../../src/service/knowledge/state/steps.ts";
import { openObjectDirectory } from "../../../../src/service/storage/object-directory.ts";
import type { Storage } from "../../../../src/service/storage/storage.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { startKillable, type Killable } from "../../harness/killable.ts";
import { freshDatabase, openTestStorage } from "../../harness/storage.ts";

const BASES = "/api/knowledge/databases";
/** Last what no task goes on with: meanwhile the leases of the tasks before run out. */
const LAST: readonly KnowledgeStep[] = ["add.recorded", "upload.stored", "upload.recorded", "delete.records"];
const IN_TASKS = KNOWLEDGE_STEPS.filter((step) => !LAST.includes(step));
const STEPS = [...IN_TASKS.filter((step) => step.startsWith("delete.")), ...IN_TASKS, ...LAST].filter(
  (step, index, all) => all.indexOf(step) === index,
);
// More than one batch of chunks: the index is begun and not written for a while.
const LONG = Array.from({ length: 520 }, (_, at) => `## Part ${at}\n\n${`word${at} `.repeat(40)}`).join("\n\n");

// PostgreSQL alone: a start costs less there, and what is proved is the order of writes, which both engines share.
test(
  "killed at every step of upload, add, parse, index and delete, a knowledge base comes out whole",
  { timeout: 300_000 },
  async () => {
    const database = await freshDatabase("postgres");
    const directory = temporaryDirectory(onTestFinished);
    const start = (step?: KnowledgeStep): Promise<Killable> =>
      startKillable({
        directory,
        turndUrl: "http://127.0.0.1:9",
        databaseUrl: database.url,
        env: {
          SERVICE_KB_LEASE_MS: "10000",
          KILLABLE_PARSES: join(directory, "parses"),
          ...(step === undefined ? {} : { KILLABLE_STEP: step, KILLABLE_MARK: join(directory, step) }),
        },
      });
    let bases: Bases | undefined;
    for (const step of STEPS) {
      // It may die of what one before it has left, also before it was logged in to, and its answers be lost with it.
      const service = await start(step).catch((error: unknown) => {
        if (!existsSync(join(directory, step))) throw error;
      });
      if (service === undefined) continue;
      bases ??= await makeBases(service);
      await provoke(service, step, bases).catch(() => undefined);
      await service.exited;
    }
    expect(STEPS.filter((step) => !existsSync(join(directory, step)))).toEqual([]);
    expect([...STEPS].toSorted()).toEqual([...KNOWLEDGE_STEPS].toSorted());

    // The directories of those that were killed: another process deletes them when they have not changed for a day.
    const left = (): string[] => readdirSync(directory).filter((name) => name.startsWith("parsing-"));
    expect(left()).toHaveLength(STEPS.length);
    for (const name of left()) utimesSync(join(directory, name), 0, 0);
    const last = await start();
    expect(left()).toHaveLength(1);
    // Of a process that was ended by what one before it has left, the deletion may not have been asked for; twice is right.
    for (const step of ["delete.objects", "delete.rows"] as const)
      await last.call("DELETE", `${BASES}/${bases?.[step]}`);
    await waitFor(
      "every task's end",
      async () => {
        const { tasks } = (await last.call("GET", "/api/tasks?limit=500")).body;
        return tasks.every(({ status }: { status: string }) => status === "success") && tasks.length > 5;
      },
      90_000,
    );
    last.kill("SIGTERM");
    await last.exited;
    const storage = await openTestStorage(database);
    onTestFinished(() => storage.close());
    const objects = openObjectDirectory(join(directory, "objects"));
    const sweep = { storage, objects, logger: pino({ level: "silent" }), orphanMs: 0 };
    await sweepKnowledge(sweep);
    await deleteOrphans(sweep);
    await expectWhole(storage, directory);
    expectParsedOnceMore(readFileSync(join(directory, "parses"), "utf8"));
  },
);

/** No file was parsed more often than it was interrupted, plus one, and none twice by one process. */
function expectParsedOnceMore(log: string): void {
  const lines = log.trimEnd().split("\n");
  const finished = new Set(lines.filter((line) => line.includes(" parse.finished ")));
  const starts = lines.filter((line) => line.includes(" parse.claimed "));
  expect(new Set(starts).size, "parses of one file by one process").toBe(starts.length);
  const isFinished = (start: string): boolean => finished.has(start.replace("parse.claimed", "parse.finished"));
  const byFile = Map.groupBy(starts, (line) => line.split(" ").at(-1));
  const parsed = [...byFile.values()].map((list) => ({
    starts: list.length,
    interrupted: list.filter((start) => !isFinished(start)).length,
  }));
  expect(parsed.filter((file) => file.starts > file.interrupted + 1)).toEqual([]);
  // Three steps interrupted a parse, two of them perhaps that of one file, and each was begun again.
  const count = (of: (file: (typeof parsed)[number]) => number): number =>
    parsed.reduce((sum, file) => sum + of(file), 0);
  expect(count(({ interrupted }) => interrupted)).toBeGreaterThanOrEqual(3);
  expect(count(({ starts: times }) => times - 1)).toBeGreaterThanOrEqual(3);
}

/** Ids: of the one that is kept, and of one for each step at which a deletion is killed. */
type Bases = Readonly<Record<"kept" | "delete.objects" | "delete.rows", string>>;

/** By the first process, which nothing of another's kills meanwhile. */
async function makeBases(service: Killable): Promise<Bases> {
  const make = async (name: string): Promise<string> =>
    (await service.call("POST", BASES, { name })).body.database.kb_id;
  return {
    kept: await make("kept"),
    "delete.objects": await make("delete.objects"),
    "delete.rows": await make("delete.rows"),
  };
}

/** Does what leads to a step. */
async function provoke(service: Killable, step: KnowledgeStep, bases: Bases): Promise<void> {
  const kbId = step === "delete.objects" || step === "delete.rows" ? bases[step] : bases.kept;
  const file = await service.upload(kbId, `${step}.md`, `# ${step}\n\n${LONG}`);
  const { body } = await service.call("POST", `${BASES}/${kbId}/documents`, {
    items: [file],
    params: { auto_index: true },
  });
  if (!step.startsWith("delete.")) return;
  const [fileId] = body.file_ids;
  const path = `${BASES}/${kbId}/documents/${fileId}`;
  await waitFor("the index", async () => (await service.call("GET", path)).body.file.status === "indexed");
  await service.call("DELETE", step === "delete.records" ? path : `${BASES}/${kbId}`);
}

async function expectWhole(storage: Storage, directory: string): Promise<void> {
  const bases = await storage.db.selectFrom("knowledge_base").select(["id", "no", "deleted_at"]).execute();
  const kept = bases.filter(({ deleted_at }) => deleted_at === null);
  expect([bases.length, kept.length]).toEqual([3, 1]);
  const files = await storage.db.selectFrom("knowledge_file").selectAll().execute();
  expect(files.map(({ kb_id }) => kb_id)).toEqual(files.map(() => kept[0]?.id));
  // One for each step whose request arrived, but for the one that was deleted.
  expect(files.length).toBeGreaterThan(4);
  const found = [];
  for (const { id, generation } of files) {
    const { rows } = await sql<{ of: number; at: number[] }>`
      select generation as of, array_agg(chunk_index order by chunk_index) as at from knowledge_chunk
      where file_id = ${id} group by generation`.execute(storage.db);
    found.push({
      id,
      generation,
      rows: rows.map(({ of, at }) => ({ of, isWhole: at.every((each, n) => each === n) })),
    });
  }
  expect(found).toEqual(
    files.map(({ id, generation }) => ({ id, generation, rows: [{ of: generation, isWhole: true }] })),
  );
  const { rows: counts } = await sql<{ file_id: string; chunks: number }>`
    select file_id, count(*)::int as chunks from knowledge_chunk group by file_id`.execute(storage.db);
  const chunksOf = new Map(counts.map(({ file_id, chunks }) => [file_id, chunks]));
  // What a deletion left is gone, too: no file but these has chunks.
  expect(chunksOf.size).toBe(files.length);
  for (const file of files) {
    expect(file).toMatchObject({ status: "indexed", tries: 0, claim_task: null, error: null, has_stale_chunks: false });
    expect([file.generation, file.chunk_count]).toEqual([1, chunksOf.get(file.id)]);
    expect(file.chunk_count).toBeGreaterThan(200);
  }
  const uploads = await storage.db.selectFrom("knowledge_upload").select("object_key").execute();
  const named: string[] = [
    ...files.flatMap((file) => [file.object_key, file.markdown_key ?? ""]),
    ...uploads.map((each) => each.object_key),
  ];
  const objects = [];
  for await (const { key } of openObjectDirectory(join(directory, "objects")).list()) objects.push(key);
  expect(objects.toSorted()).toEqual(named.toSorted());
  expect(readdirSync(join(directory, "objects/incoming"))).toEqual([]);
  // A deleted knowledge base leaves no table.
  const { rows: tables } = await sql<{ name: string }>`
    select relname as name from pg_class where relkind = 'r' and relname like 'knowledge_chunk_%'`.execute(storage.db);
  expect(tables.map(({ name }) => name)).toEqual(kept.map(({ no }) => `knowledge_chunk_${no}`));
}
