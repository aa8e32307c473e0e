import { sql, type RawBuilder, type Selectable } from "kysely";
import { v7 as uuid7 } from "uuid";
import { z } from "zod";
import { defined } from "../../kit/defined.ts";
import { lockName } from "../storage/advisory-lock.ts";
import { json } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";
import type { SandboxTable } from "../storage/tables.ts";
import type { Queries, Transaction } from "../storage/transaction.ts";
import { OPEN_RUNS } from "../storage/open-runs.ts";

export type SandboxRow = Selectable<SandboxTable>;
export type SandboxState = SandboxRow["state"];

/** A sandbox as in its row. */
export interface SandboxRecord {
  readonly id: string;
  readonly generation: number;
}

/** Where each state may lead. Every move names the generation and the state that it found; see {@link moveRow}. */
export const MOVES: Readonly<Record<SandboxState, readonly SandboxState[]>> = {
  stopped: ["starting", "deleting"],
  // Its process ended, or was stopped: `starting` again is the next generation's.
  starting: ["ready", "failed", "stopped", "deleting"],
  failed: ["starting", "deleting"],
  ready: ["ready", "quiescing", "stopped", "deleting"],
  quiescing: ["ready", "stopped", "deleting"],
  deleting: ["deleting"],
};

/** Why starts failed, one after another; null once one succeeds. */
const StartFailures = z.object({
  message: z.string(),
  failures: z.int(),
  retry_at: z.iso.datetime(),
  /** The last one failed because the engine was away: it is not counted, and what needs the sandbox waits. */
  is_engine_away: z.boolean().default(false),
});
export type StartFailures = z.infer<typeof StartFailures>;

/** What keeps a sandbox: a run of its thread or user that has not ended. */
const HAS_OPEN_RUN = sql<boolean>`exists (select 1 from run where run.status in ${OPEN_RUNS}
  and (sandbox.scope_key = 'thread:' || run.thread_pk or sandbox.scope_key = 'user:' || run.user_id))`;
/** What takes a place among `SERVICE_SANDBOX_MAX`. */
const ACTIVE: readonly SandboxState[] = ["starting", "ready", "quiescing"];

/** The row of a scope; made where it is not there yet. */
export async function ensureRow(
  storage: Storage,
  { kind, scopeKey }: { kind: SandboxRow["kind"]; scopeKey: string },
): Promise<SandboxRow> {
  const find = () => storage.db.selectFrom("sandbox").selectAll().where("scope_key", "=", scopeKey).executeTakeFirst();
  const known = await find();
  if (known !== undefined) return known;
  const id = uuid7();
  await storage.db
    .insertInto("sandbox")
    .values({ id, kind, scope_key: scopeKey, state: "stopped", generation: 0, volume: `svc-${id}` })
    .onConflict((conflict) => conflict.column("scope_key").doNothing())
    .execute();
  const made = await find();
  if (made === undefined) throw new Error(`the sandbox of ${scopeKey} was removed while it was made`);
  return made;
}

/** A row as it was found: what a move compares. */
export type FoundState = Pick<SandboxRow, "id" | "generation" | "state">;
/** A further condition on a row, decided in the statement that moves it. */
export type Condition = RawBuilder<boolean>;

export interface Move {
  readonly state: SandboxState;
  readonly address?: string | null;
  readonly error?: StartFailures | null;
  readonly generation?: number;
  readonly spec?: Readonly<Record<string, unknown>>;
  /** Whether this is a use of the sandbox. */
  readonly isUse?: boolean;
}

/**
 * Moves a row by compare-and-set on generation and state.
 *
 * @param more - a further condition, decided in the same statement
 * @returns undefined when the row is not as it was found
 */
export async function moveRow(
  db: Queries | Transaction,
  found: FoundState,
  move: Move,
  more: Condition = sql<boolean>`true`,
): Promise<SandboxRow | undefined> {
  if (!MOVES[found.state].includes(move.state) && !(found.state === "starting" && move.generation !== undefined)) {
    throw new Error(`a sandbox does not go from ${found.state} to ${move.state}`);
  }
  return db
    .updateTable("sandbox")
    .set({
      state: move.state,
      updated_at: sql<Date>`now()`,
      ...defined({ address: move.address }),
      ...(move.error === undefined ? {} : { error: move.error === null ? null : json(move.error) }),
      ...(move.generation === undefined ? {} : { generation: move.generation, health_failures: 0 }),
      ...(move.spec === undefined ? {} : { spec: json(move.spec) }),
      ...(move.isUse === true ? { last_used_at: sql<Date>`now()` } : {}),
    })
    .where("id", "=", found.id)
    .where("generation", "=", found.generation)
    .where("state", "=", found.state)
    .where(more)
    .returningAll()
    .executeTakeFirst();
}

/** The result of an attempt to begin a sandbox's start. */
export type Begun =
  | { readonly is: "begun"; readonly row: SandboxRow; readonly displaced: SandboxRow | undefined }
  | { readonly is: "full" }
  | { readonly is: "moved" };

/**
 * Takes a sandbox's next generation, and a place for it: where there is none, that of the one that has been idle for longest.
 *
 * @param max - places there are
 */
export async function beginStart(
  storage: Storage,
  found: SandboxRow,
  options: { readonly max: number; readonly spec: Readonly<Record<string, unknown>>; readonly staleMs: number },
): Promise<Begun> {
  return storage.transaction(async (trx) => {
    await lockName(trx, "sandbox places", found.kind);
    const { places } = await trx
      .selectFrom("sandbox")
      .select(sql<number>`count(*)::int`.as("places"))
      .where("kind", "=", found.kind)
      .where("state", "in", ACTIVE)
      .where("id", "!=", found.id)
      .executeTakeFirstOrThrow();
    const displaced = places < options.max ? undefined : await displaceIdle(trx, found);
    if (places >= options.max && displaced === undefined) return { is: "full" };
    const row = await moveRow(
      trx,
      found,
      { state: "starting", generation: found.generation + 1, address: null, spec: options.spec, isUse: true },
      found.state === "starting" ? isOlderThan(options.staleMs) : undefined,
    );
    if (row !== undefined) return { is: "begun", row, displaced };
    // Not as it was found: the process that has moved it decides what comes next, and no sandbox loses its place for it.
    if (displaced !== undefined) await moveBack(trx, displaced);
    return { is: "moved" };
  });
}

/** Stops the sandbox that has been idle for longest. @returns it as it was, `ready` */
async function displaceIdle(trx: Transaction, { kind, id }: SandboxRow): Promise<SandboxRow | undefined> {
  const oldest = await trx
    .selectFrom("sandbox")
    .selectAll()
    .where("kind", "=", kind)
    .where("id", "!=", id)
    .where("state", "=", "ready")
    .where(sql<boolean>`not ${HAS_OPEN_RUN}`)
    .orderBy("last_used_at")
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst();
  return oldest === undefined ? undefined : moveRow(trx, oldest, { state: "stopped", address: oldest.address });
}

async function moveBack(trx: Transaction, { id }: SandboxRow): Promise<void> {
  // No other process has seen it stopped: this transaction holds its row.
  await trx.updateTable("sandbox").set({ state: "ready" }).where("id", "=", id).execute();
}

/** Whether a row has not moved for so long; one that moved in the future did so before the clock went back. */
export function isOlderThan(ms: number): Condition {
  const time = sql`${ms}::bigint * interval '1 millisecond'`;
  return sql<boolean>`(sandbox.updated_at < now() - ${time} or sandbox.updated_at > now() + ${time})`;
}

/** Whether a sandbox has no open run, and has had none for so long. */
export function isIdleFor(ms: number): Condition {
  return sql<boolean>`(not ${HAS_OPEN_RUN} and sandbox.last_used_at <= now() - ${ms}::bigint * interval '1 millisecond')`;
}

/** Notes the use of every sandbox with an open run: idle is counted from the last one's end. @returns them */
export async function touchBusy(storage: Storage, kind: SandboxRow["kind"]): Promise<SandboxRow[]> {
  return storage.db
    .updateTable("sandbox")
    .set({ last_used_at: sql<Date>`now()` })
    .where("kind", "=", kind)
    .where("state", "in", ["ready", "quiescing"])
    .where(HAS_OPEN_RUN)
    .returningAll()
    .execute();
}

/** Why the last start failed; undefined where none did. */
export function startFailures(row: SandboxRow): StartFailures | undefined {
  return StartFailures.safeParse(row.error).data;
}

/** The row of a scope, made where it is not there yet. @param isNewStart - a start on the same volume is the next generation */
export async function recordReady(
  storage: Storage,
  spec: { kind: "embedded" | "static"; scopeKey: string; address: string; isNewStart: boolean },
): Promise<SandboxRecord> {
  return storage.transaction(async (trx) =>
    trx
      .insertInto("sandbox")
      .values({
        id: uuid7(),
        kind: spec.kind,
        scope_key: spec.scopeKey,
        state: "ready",
        address: spec.address,
        spec: json({}),
      })
      .onConflict((conflict) =>
        conflict.column("scope_key").doUpdateSet({
          state: "ready",
          address: spec.address,
          error: null,
          generation: spec.isNewStart ? sql<number>`sandbox.generation + 1` : sql<number>`sandbox.generation`,
          last_used_at: sql<Date>`now()`,
          updated_at: sql<Date>`now()`,
        }),
      )
      .returning(["id", "generation"])
      .executeTakeFirstOrThrow(),
  );
}
