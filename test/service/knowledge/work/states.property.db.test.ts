import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import {
  claimFile,
  failFile,
  finishIndex,
  finishParse,
  releaseFile,
  sweepClaims,
  type ClaimResult,
} from "../../../../src/service/knowledge/state/claims.ts";
import type { FileWork } from "../../../../src/service/knowledge/state/states.ts";
import type { KnowledgeFileStatus as Status } from "../../../../src/service/storage/knowledge-tables.ts";
import { json } from "../../../../src/service/storage/storable.ts";
import type { Storage } from "../../../../src/service/storage/storage.ts";
import { makeUser } from "../../harness/auth.ts";
import { ENGINES, shareStorage } from "../../harness/storage.ts";

// The table of states, written by hand once more and not taken from the code under test.
const DURING = { parse: "parsing", index: "indexing" } as const;
const DONE = { parse: "parsed", index: "indexed" } as const;
const FAILED = { parse: "error_parsing", index: "error_indexing" } as const;
const FROM: Readonly<Record<string, readonly Status[]>> = {
  parse: ["uploaded", "error_parsing"],
  force: ["uploaded", "error_parsing", "parsed", "indexed", "error_indexing"],
  parsePending: ["uploaded"],
  index: ["parsed", "error_indexing", "indexed"],
};

interface Owner {
  readonly taskId: string;
  readonly attempt: number;
}

interface Model {
  status: Status;
  cameFrom: Status | undefined;
  owner: Owner | undefined;
  tries: number;
  generation: number;
  by: { parse: string | undefined; index: string | undefined };
}

type Step =
  | { type: "claim"; way: string; task: number; attempt: number }
  | { type: "finish" | "fail" | "release"; work: FileWork; task: number; attempt: number }
  | { type: "sweep"; hasLeaseEnded: boolean; liveAttempts: (number | undefined)[] };

const task = fc.nat({ max: 1 });
const attempt = fc.integer({ min: 1, max: 3 });
const work = fc.constantFrom<FileWork>("parse", "index");
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant("claim" as const),
      way: fc.constantFrom(...Object.keys(FROM)),
      task,
      attempt,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constantFrom("finish" as const, "fail" as const, "release" as const),
      work,
      task,
      attempt,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("sweep" as const),
      hasLeaseEnded: fc.boolean(),
      liveAttempts: fc.array(fc.option(attempt, { nil: undefined }), { minLength: 2, maxLength: 2 }),
    }),
  },
);

describe.each(ENGINES)("%s", (kind) => {
  const storage = shareStorage(kind);

  test("every sequence of claims, ends and losses moves a file by the table", async () => {
    const { caller } = await makeUser(storage(), { role: "admin" });
    await storage()
      .db.insertInto("knowledge_base")
      .values({ id: "kb_states", name: "states", kb_type: "local", share_config: json({}), created_by: caller.userId })
      .execute();
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 25 }), async (steps) => {
        await play(storage(), steps);
      }),
      { numRuns: kind === "pglite" ? 15 : 60 },
    );
  });
});

async function play(storage: Storage, steps: readonly Step[]): Promise<void> {
  const id = `file_${randomUUID()}`;
  const tasks = [randomUUID(), randomUUID()];
  await storage.db
    .insertInto("knowledge_file")
    .values({
      id,
      kb_id: "kb_states",
      filename: "a.md",
      file_type: "md",
      object_key: "aa/x",
      file_path: "kb://x",
      content_hash: "h",
      size: 1,
    })
    .execute();
  for (const taskId of tasks)
    await storage.db
      .insertInto("task")
      .values({ id: taskId, kind: "knowledge_parse", name: "t", status: "running", payload: json({}), attempt: 1 })
      .execute();
  const model: Model = {
    status: "uploaded",
    cameFrom: undefined,
    owner: undefined,
    tries: 0,
    generation: 0,
    by: { parse: undefined, index: undefined },
  };
  for (const step of steps) {
    const expected = await take(model, tasks, step);
    expect([step, await perform(storage, id, tasks, step)]).toEqual([step, expected]);
    const row = await storage.db
      .selectFrom("knowledge_file")
      .selectAll()
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
    expect({
      status: row.status,
      cameFrom: row.came_from ?? undefined,
      owner: row.claim_task === null ? undefined : { taskId: row.claim_task, attempt: row.claim_attempt },
      tries: row.tries,
      generation: row.generation,
      by: { parse: row.parsed_by ?? undefined, index: row.indexed_by ?? undefined },
    }).toEqual(model);
    expect(row.error !== null).toBe(row.status.startsWith("error_"));
  }
}

function settle(model: Model, status: Status): void {
  model.status = status;
  model.owner = undefined;
  model.cameFrom = undefined;
}

/** The result of a step by the table. */
async function take(model: Model, tasks: readonly string[], step: Step): Promise<unknown> {
  if (step.type === "sweep") {
    const { owner } = model;
    if (owner === undefined || !step.hasLeaseEnded) return "none";
    if (step.liveAttempts[tasks.indexOf(owner.taskId)] === owner.attempt) return "none";
    const during: FileWork = model.status === "parsing" ? "parse" : "index";
    if (model.tries >= 5) {
      model.by[during] = owner.taskId;
      settle(model, FAILED[during]);
      model.tries = 0;
      return "exhausted";
    }
    settle(model, model.cameFrom ?? "uploaded");
    return "released";
  }
  const owner: Owner = { taskId: tasks[step.task] ?? "", attempt: step.attempt };
  if (step.type === "claim") {
    const wanted: FileWork = step.way === "index" ? "index" : "parse";
    const isMine = model.owner?.taskId === owner.taskId && model.owner.attempt < owner.attempt;
    const isTakenOver = model.status === DURING[wanted] && isMine;
    if (!isTakenOver) {
      if (model.by[wanted] === owner.taskId) return "finished";
      if (model.owner !== undefined || FROM[step.way]?.includes(model.status) !== true) return "skipped";
    }
    if (model.tries >= 5) {
      settle(model, FAILED[wanted]);
      model.tries = 0;
      model.by[wanted] = owner.taskId;
      return "exhausted";
    }
    if (!isTakenOver) model.cameFrom = model.status;
    model.status = DURING[wanted];
    model.owner = owner;
    model.tries += 1;
    return "claimed";
  }
  const isOwners =
    model.owner?.taskId === owner.taskId && model.owner.attempt === owner.attempt && model.status === DURING[step.work];
  if (!isOwners) return false;
  if (step.type === "release") {
    settle(model, model.cameFrom ?? "uploaded");
    model.tries -= 1;
    return true;
  }
  settle(model, step.type === "fail" ? FAILED[step.work] : DONE[step.work]);
  model.tries = 0;
  model.by[step.work] = owner.taskId;
  if (step.type === "finish" && step.work === "parse") model.by.index = undefined;
  if (step.type === "finish" && step.work === "index") model.generation += 1;
  return true;
}

/** The step itself. */
async function perform(storage: Storage, fileId: string, tasks: readonly string[], step: Step): Promise<unknown> {
  if (step.type === "sweep") {
    const leaseUntil = step.hasLeaseEnded
      ? sql<Date>`now() - interval '1 second'`
      : sql<Date>`now() + interval '1 hour'`;
    await storage.db
      .updateTable("knowledge_file")
      .set({ lease_until: leaseUntil })
      .where("id", "=", fileId)
      .where("claim_task", "is not", null)
      .execute();
    for (const [index, taskId] of tasks.entries()) {
      const live = step.liveAttempts[index];
      await storage.db
        .updateTable("task")
        .set(live === undefined ? { status: "failed" } : { status: "running", attempt: live })
        .where("id", "=", taskId)
        .execute();
    }
    const { released, exhausted } = await sweepClaims(storage.db);
    return released > 0 ? "released" : exhausted > 0 ? "exhausted" : "none";
  }
  const owner: Owner = { taskId: tasks[step.task] ?? "", attempt: step.attempt };
  switch (step.type) {
    case "claim": {
      const claimed: ClaimResult = await storage.transaction((trx) =>
        claimFile(trx, {
          kbId: "kb_states",
          fileId,
          work: step.way === "index" ? "index" : "parse",
          from: FROM[step.way] ?? [],
          owner,
          leaseMs: 60_000,
        }),
      );
      return claimed.outcome;
    }
    case "release":
      return releaseFile(storage.db, { fileId, work: step.work, owner });
    case "fail": {
      const error = { code: "corrupt", message: "m", retryable: false };
      return (await failFile(storage.db, { fileId, work: step.work, owner }, error)) !== undefined;
    }
    case "finish":
      return (await finish(storage, fileId, step.work, owner)) !== undefined;
  }
}

async function finish(storage: Storage, fileId: string, kind: FileWork, owner: Owner): Promise<unknown> {
  if (kind === "parse") {
    return finishParse(storage.db, fileId, owner, {
      markdownKey: "bb/x",
      markdownBytes: 1,
      lines: 1,
      pages: null,
      parser: "text",
      warnings: [],
      params: {},
    });
  }
  const row = await storage.db
    .selectFrom("knowledge_file")
    .select("generation")
    .where("id", "=", fileId)
    .executeTakeFirst();
  return storage.transaction((trx) =>
    finishIndex(trx, fileId, owner, {
      generation: (row?.generation ?? 0) + 1,
      chunks: 1,
      estimatedTokens: 1,
      terms: 1,
      vectors: 0,
      hasOldChunks: false,
      warnings: [],
    }),
  );
}
