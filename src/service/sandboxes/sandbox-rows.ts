import { sql } from "kysely";
import { v7 as uuid7 } from "uuid";
import { json } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";

/** A sandbox as its row says. */
export interface SandboxRecord {
  readonly id: string;
  readonly generation: number;
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
