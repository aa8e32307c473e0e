import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import type { BaseRow } from "../../../../src/service/knowledge/state/access.ts";
import type { Embedder } from "../../../../src/service/knowledge/models/embed.ts";
import type { Knowledge } from "../../../../src/service/knowledge/knowledge.ts";
import { createParser } from "../../../../src/service/knowledge/parse/create-parser.ts";
import type { EngineChoice } from "../../../../src/service/storage/engine.ts";
import { openObjectDirectory } from "../../../../src/service/storage/object-directory.ts";
import { openStorage, type Storage } from "../../../../src/service/storage/storage.ts";
import { workOnTasks } from "../../../../src/service/tasks/work-on-tasks.ts";
import { createTaskControls } from "../../../../src/service/tasks/task-controls.ts";
import { makeUser } from "../../../../test/service/harness/auth.ts";
import { makeKnowledge } from "../../../../test/service/harness/knowledge-room.ts";
import { startPostgresCluster } from "../../../../test/service/harness/postgres-cluster.ts";
import type { EngineName } from "../../../soak/service/stage.ts";

/** The room with its real parser and workers, on one engine, with an empty knowledge base. */
export interface KnowledgeStage {
  readonly engine: EngineName;
  readonly storage: Storage;
  /** How the database is reached; a PGlite directory can be opened by another once `storage` is closed. */
  readonly database: EngineChoice;
  readonly knowledge: Knowledge;
  readonly base: BaseRow;
  readonly directory: string;
  /** Uploads originals. @returns their addresses */
  upload(files: Iterable<readonly [name: string, content: string | AsyncIterable<Buffer>]>): Promise<string[]>;
  /** Parses and indexes what was uploaded. @returns milliseconds */
  import(items: readonly string[]): Promise<number>;
  /** Another empty knowledge base. */
  makeBase(): Promise<BaseRow>;
  /** Until their chunks are gone, too. @returns milliseconds */
  deleteFiles(ids: readonly string[]): Promise<number>;
}

export interface KnowledgeStageOptions {
  readonly embedder?: Embedder;
}

const ITEMS_AT_ONCE = 1_000;

/** Runs a measure, and ends everything. PostgreSQL waits for its disk, as it does elsewhere. */
export async function withKnowledge<T>(
  engine: EngineName,
  parent: string,
  use: (stage: KnowledgeStage) => Promise<T>,
  { embedder }: KnowledgeStageOptions = {},
): Promise<T> {
  const directory = join(parent, engine);
  mkdirSync(directory, { mode: 0o755 });
  const cluster = engine === "postgres" ? await startPostgresCluster({ isDurable: true }) : undefined;
  const logger = pino({ level: "silent" });
  const database: EngineChoice =
    cluster === undefined
      ? { kind: "pglite", directory: join(directory, "data") }
      : { kind: "postgres", url: cluster.url, poolSize: 10 };
  const storage = await openStorage({ engine: database, logger, isMigrating: true, leaseMs: 10_000 });
  try {
    const parser = await createParser({
      directory,
      children: 2,
      timeoutMs: 600_000,
      memoryMegabytes: 1_024,
      outputBytes: 67_108_864,
      maxPages: 5_000,
      ocr: "off",
      ocrLanguages: [],
      converter: "off",
    });
    const limits = { maxFileBytes: 104_857_600, outputBytes: 67_108_864, leaseMs: 60_000 };
    const objects = openObjectDirectory(join(directory, "objects"));
    const knowledge = await makeKnowledge(storage, objects, { parser, limits, embedder });
    const controls = await createTaskControls(storage, logger);
    try {
      await workOnTasks({ storage, kinds: knowledge.taskKinds(), controls, logger }, { places: 4, turnMs: 5_000 });
      return await use(await setUp({ engine, storage, database, knowledge, directory }));
    } finally {
      await controls.close();
      await knowledge.close();
    }
  } finally {
    await storage.close();
    await cluster?.stop();
  }
}

async function setUp(
  given: Pick<KnowledgeStage, "engine" | "storage" | "database" | "knowledge" | "directory">,
): Promise<KnowledgeStage> {
  const { storage, knowledge } = given;
  const { caller } = await makeUser(storage, { role: "superadmin" });
  const makeBase = async (): Promise<BaseRow> => {
    const name = `bench ${crypto.randomUUID()}`;
    const made = await knowledge.bases.create({ caller, ip: null }, { name, kb_type: "local" });
    return knowledge.open(caller, made.kb_id, { need: "manage" });
  };
  const base = await makeBase();
  return {
    ...given,
    base,
    makeBase,
    async upload(files) {
      const items: string[] = [];
      for (const [filename, content] of files) {
        const stream = typeof content === "string" ? Readable.from([Buffer.from(content)]) : Readable.from(content);
        const part = { type: "file", name: "file", filename, stream } as const;
        items.push((await knowledge.uploads.receive(base, caller, only(part), true)).file_path);
      }
      return items;
    },
    async import(items) {
      const startedAt = performance.now();
      for (let start = 0; start < items.length; start += ITEMS_AT_ONCE) {
        const part = items.slice(start, start + ITEMS_AT_ONCE);
        const queued = await knowledge.documents.import(base, caller, { items: part, params: { auto_index: true } });
        await settled(storage, queued.task_id);
      }
      const took = performance.now() - startedAt;
      const left = await storage.db
        .selectFrom("knowledge_file")
        .select(["status", "error"])
        .where("status", "<>", "indexed")
        .execute();
      if (left.length > 0) throw new Error(`${left.length} files are not indexed: ${JSON.stringify(left[0])}`);
      return took;
    },
    async deleteFiles(ids) {
      const startedAt = performance.now();
      await knowledge.deleteFiles(base, caller, ids);
      await settled(storage);
      return performance.now() - startedAt;
    },
  };
}

async function* only<T>(part: T): AsyncGenerator<T> {
  yield part;
}

/** Waits until a task, or whatever is open, has ended well. */
async function settled(storage: Storage, taskId?: string): Promise<void> {
  for (;;) {
    let query = storage.db.selectFrom("task").select(["status", "error"]).where("status", "<>", "success");
    if (taskId !== undefined) query = query.where("id", "=", taskId);
    const open = await query.execute();
    if (open.length === 0) return;
    const bad = open.find(({ status }) => status !== "pending" && status !== "running");
    if (bad !== undefined) throw new Error(`a task is ${bad.status}: ${JSON.stringify(bad.error)}`);
    await delay(50);
  }
}
