import { sql } from "kysely";
import { pino } from "pino";
import { createCredentials } from "../../../src/service/auth/credentials.ts";
import { sha256 } from "../../../src/service/auth/derive.ts";
import { createTokens } from "../../../src/service/auth/jwt.ts";
import { append } from "../../../src/service/runs/state/append.ts";
import type { EngineChoice } from "../../../src/service/storage/engine.ts";
import { openStorage, type Storage } from "../../../src/service/storage/storage.ts";
import { startPostgresCluster } from "../../../test/service/harness/postgres-cluster.ts";
import { openRunDesk } from "../../../test/service/harness/run-desk.ts";
import type { EngineName } from "../../soak/service/stage.ts";
import { percentile, type Figure } from "../figures.ts";
import { measureCommitOn, measureTimes } from "./bare-commits.ts";

const BATCH = 4;

/** What costs on the way of every call and every event, in a process that does nothing else. */
export async function benchParts(engine: EngineName, directory: string): Promise<Figure[]> {
  const cluster = engine === "postgres" ? await startPostgresCluster({ isDurable: true }) : undefined;
  const choice: EngineChoice =
    cluster === undefined
      ? { kind: "pglite", directory: `${directory}/parts` }
      : { kind: "postgres", url: cluster.url, poolSize: 4 };
  const logger = pino({ level: "silent" });
  const storage = await openStorage({ engine: choice, logger, isMigrating: true, leaseMs: 20_000 });
  try {
    return [await benchAppend(engine, storage), await benchKeyCheck(engine, storage)];
  } finally {
    await storage.close();
    await cluster?.stop();
  }
}

async function benchAppend(engine: EngineName, storage: Storage): Promise<Figure> {
  const desk = await openRunDesk(storage);
  const { run } = await desk.submit("bench-append", "enqueue");
  const owner = await desk.claim(run?.id ?? "");
  if (owner === undefined) throw new Error("the run cannot be claimed");
  const events = Array.from({ length: BATCH }, (_, index) => ({
    event: "messages" as const,
    payload: { items: [{ type: "message", message_id: `m${index}`, role: "assistant", content: "a few words" }] },
    native: { turn_seq: index, type: "message", line: '{"type":"item.completed","item":{"text":"a few words"}}' },
  }));
  let cursor = 0;
  const times = await measureTimes(() =>
    append(storage, owner, events, { turnCursor: (cursor += BATCH), isNoticed: true }),
  );
  const [p50, { p50Ms: commit }] = [percentile(times, 0.5), await measureCommitOn(storage.db)];
  return {
    measure: `${engine}: append of a ${BATCH}-event batch, p50`,
    turnd: `${p50.toFixed(2)} ms`,
    yardstick: `${commit.toFixed(2)} ms, a bare commit`,
    ratio: p50 / commit,
    target: "<= 4",
  };
}

async function benchKeyCheck(engine: EngineName, storage: Storage): Promise<Figure> {
  const key = `svkey_${"5".repeat(48)}`;
  const { id } = await storage.db.selectFrom("account").select("id").limit(1).executeTakeFirstOrThrow();
  await storage.db
    .insertInto("api_key")
    .values({
      user_id: id,
      created_by: id,
      request_id: "bench-key",
      name: "bench",
      key_prefix: key.slice(0, 12),
      intent_hash: sha256("bench"),
      key_hash: sha256(key),
    })
    .execute();
  const credentials = createCredentials(storage, createTokens("a bench needs a secret of 32 characters", 60_000));
  const checks = await measureTimes(() => credentials.authenticate(`Bearer ${key}`));
  const selects = await measureTimes(() =>
    sql`select k.id as "keyId", a.id, a.username, a.role, a.department_id
        from api_key k join account a on a.id = k.user_id
        where k.key_hash = ${sha256(key)} and k.is_enabled and k.revoked_at is null
          and (k.expires_at is null or k.expires_at > now()) and a.is_enabled and a.deleted_at is null`.execute(
      storage.db,
    ),
  );
  const [p50, select] = [percentile(checks, 0.5), percentile(selects, 0.5)];
  return {
    measure: `${engine}: check of an API key, p50`,
    turnd: `${p50.toFixed(2)} ms`,
    yardstick: `${select.toFixed(2)} ms, its select`,
    ratio: p50 / select,
    target: "<= 1.5",
  };
}
