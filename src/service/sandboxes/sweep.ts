import PQueue from "p-queue";
import { sql } from "kysely";
import type { Logger } from "pino";
import type { Storage } from "../storage/storage.ts";
import type { EngineItem, InstanceName, SandboxEngine } from "./sandbox-engine.ts";
import { isIdleFor, isOlderThan, touchBusy, type Condition, type FoundState, type SandboxRow } from "./sandbox-rows.ts";

export interface SweepOptions {
  readonly storage: Storage;
  readonly engine: SandboxEngine;
  readonly logger: Logger;
  readonly idleMs: number;
  /** A `starting` or `quiescing` that has not moved for so long has no process. */
  readonly staleMs: number;
  readonly orphanVolumeMs?: number;
}

/** What a sweep does with what it finds. */
export interface SweepMoves {
  quiesce(id: string, idleMs: number): Promise<SandboxRow | undefined>;
  stopFound(found: FoundState, more?: Condition): Promise<boolean>;
  destroy(id: string): Promise<void>;
  halt(name: InstanceName): Promise<void>;
}

/** A stop waits for turnd; so many wait at once. */
const AT_ONCE = 8;
const HEALTH_MS = 5_000;
const MISSES_LOGGED = 3;
const DAY_MS = 86_400_000;

/** One look at all sandboxes: stops what is idle or left over, removes what has no row. A fault with one keeps none of the others. */
export async function sweepSandboxes(options: SweepOptions, moves: SweepMoves): Promise<void> {
  const { storage, engine, logger } = options;
  const busy = await touchBusy(storage, engine.kind);
  // The engine first: what it had then, some row had before.
  const found = await engine.list();
  const rows = await storage.db.selectFrom("sandbox").selectAll().where("kind", "=", engine.kind).execute();
  const known = new Map(rows.map((row) => [row.id, row]));
  const queue = new PQueue({ concurrency: AT_ONCE });
  const doing = (sandboxId: string, work: () => Promise<unknown>): void => {
    queue
      .add(work)
      .catch((error: unknown) =>
        logger.warn({ err: error, sandboxId }, "sandbox not swept; the next sweep tries again"),
      );
  };
  for (const each of found) sweepFound(each, known.get(each.id), options, moves, doing);
  for (const row of await findLeftOver(options)) {
    // One that runs need has been marked too late: their `acquire` takes it back.
    doing(row.id, () => moves.stopFound(row, row.state === "quiescing" ? isIdleFor(0) : undefined));
  }
  for (const { id } of rows.filter(({ state }) => state === "deleting")) doing(id, () => moves.destroy(id));
  for (const row of await findIdle(options)) {
    doing(row.id, async () => {
      const marked = await moves.quiesce(row.id, options.idleMs);
      // Between the two a run may have begun, or an `acquire` have taken it back.
      if (marked === undefined || !(await moves.stopFound(marked, isIdleFor(options.idleMs)))) return;
      logger.info({ sandboxId: row.id, generation: row.generation }, "idle sandbox stopped");
    });
  }
  for (const row of busy) doing(row.id, () => noteHealth(options, row));
  await queue.onIdle();
}

function sweepFound(
  each: EngineItem,
  row: SandboxRow | undefined,
  { engine, logger, orphanVolumeMs = DAY_MS }: SweepOptions,
  moves: SweepMoves,
  doing: (sandboxId: string, work: () => Promise<unknown>) => void,
): void {
  if (each.what === "volume") {
    // A volume that may still have to be restored is not removed at once.
    if (row !== undefined || Date.now() - each.createdAt.getTime() < orphanVolumeMs) return;
    logger.warn({ sandboxId: each.id }, "the volume of a sandbox without a row is removed");
    doing(each.id, () => engine.remove(each.id));
    return;
  }
  const { id, generation } = each;
  const isMeant = row?.generation === generation && ["starting", "ready", "quiescing"].includes(row.state);
  if (isMeant || row?.state === "deleting") return;
  logger.warn({ sandboxId: id, generation }, "an instance without a row is removed");
  doing(id, () => moves.halt({ id, generation }));
}

/** Starts and stops whose process is gone. */
async function findLeftOver({ storage, engine, staleMs }: SweepOptions): Promise<SandboxRow[]> {
  return storage.db
    .selectFrom("sandbox")
    .selectAll()
    .where("kind", "=", engine.kind)
    .where("state", "in", ["starting", "quiescing"])
    .where(isOlderThan(staleMs))
    .execute();
}

async function findIdle({ storage, engine, idleMs }: SweepOptions): Promise<SandboxRow[]> {
  return storage.db
    .selectFrom("sandbox")
    .selectAll()
    .where("kind", "=", engine.kind)
    .where("state", "=", "ready")
    .where(isIdleFor(idleMs))
    .execute();
}

/** Counts the misses in a row of a sandbox with an open run. It is logged and counted; the run's own reconnect decides what becomes of the run. */
async function noteHealth({ storage, logger }: SweepOptions, row: SandboxRow): Promise<void> {
  const { id, generation, address } = row;
  if (address === null) return;
  const isHealthy = await isAnswering(address);
  const noted = await storage.db
    .updateTable("sandbox")
    .set({ health_failures: isHealthy ? 0 : sql<number>`health_failures + 1` })
    .where("id", "=", id)
    .where("generation", "=", generation)
    .returning("health_failures")
    .executeTakeFirst();
  if (noted !== undefined && noted.health_failures >= MISSES_LOGGED) {
    logger.warn(
      { sandboxId: id, generation, misses: noted.health_failures },
      "a sandbox with an open run does not answer",
    );
  }
}

async function isAnswering(baseUrl: string): Promise<boolean> {
  const answer = await fetch(`${baseUrl}/v1/health`, { signal: AbortSignal.timeout(HEALTH_MS) }).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.ok === true;
}
