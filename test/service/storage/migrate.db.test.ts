import { SignJWT } from "jose";
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { putAgents, readAgentsFile } from "../../../src/service/agents/seed.ts";
import { createKeyDerivation, keyIntentHashOfVersion1, sha256 } from "../../../src/service/auth/derive.ts";
import { assertMigrated, migrate } from "../../../src/service/storage/migrate.ts";
import type { Queries } from "../../../src/service/storage/transaction.ts";
import { JWT_SECRET, KEY_SECRET, makeUser, testAuth } from "../harness/auth.ts";
import { ENGINES, freshStorage } from "../harness/storage.ts";

/** The schema as it was before 040_usage_cost. */
async function undoUsageCost(db: Queries): Promise<void> {
  await sql`update usage_day set cost_usd = 0 where cost_usd is null`.execute(db);
  await sql`alter table usage_day alter column cost_usd set not null, alter column cost_usd set default 0`.execute(db);
  await sql`delete from migration where name = '040_usage_cost'`.execute(db);
}

/** The schema as it was before 030_credentials. */
async function undoCredentials(db: Queries): Promise<void> {
  await undoUsageCost(db);
  await sql`alter table account drop column uid`.execute(db);
  await sql`alter table api_key drop column uid`.execute(db);
  await sql`alter table thread drop column intent_hash`.execute(db);
  await sql`drop table login_address`.execute(db);
  await sql`delete from migration where name = '030_credentials'`.execute(db);
}

describe.each(ENGINES)("%s", (kind) => {
  test("a database of an older version is refused or brought up to date, with what is in it", async () => {
    const storage = await freshStorage(kind);
    const { db } = storage;
    await putAgents(storage, await readAgentsFile(undefined));
    const slugs = async () =>
      (await db.selectFrom("agent").select("slug").orderBy("slug").execute()).map(Object.values);
    const before = await slugs();
    await undoCredentials(db);
    await expect(assertMigrated(db)).rejects.toThrow("the database lacks 030_credentials, 040_usage_cost");
    expect(await Promise.all([migrate(db), migrate(db)])).toContainEqual(["030_credentials", "040_usage_cost"]);
    await assertMigrated(db);
    expect(await slugs()).toEqual(before);
    expect(await migrate(db)).toEqual([]);
  });

  test("keys of before 030_credentials go on, and their creation repeated shows them; logins end", async () => {
    const storage = await freshStorage(kind);
    const { db } = storage;
    const actor = await makeUser(storage);
    const { userId } = actor.caller;
    const intent = { userId, requestId: "create-key-0001", name: "ci", expiresAt: null, source: "api" } as const;
    await undoCredentials(db);
    const secret = createKeyDerivation(KEY_SECRET).secretOfVersion1(userId, intent.requestId);
    const { id } = await db
      .insertInto("api_key")
      .values({
        user_id: userId,
        request_id: intent.requestId,
        intent_hash: keyIntentHashOfVersion1(intent),
        key_hash: sha256(secret),
        key_prefix: secret.slice(0, 12),
        name: intent.name,
        created_by: userId,
      })
      .returning("id")
      .executeTakeFirstOrThrow();
    const token = await new SignJWT({ epoch: 1 })
      .setProtectedHeader({ alg: "HS256" })
      .setSubject(String(userId))
      .setIssuer("svc")
      .setAudience("svc")
      .setIssuedAt()
      .setExpirationTime("1h")
      .setJti("j")
      .sign(Buffer.from(JWT_SECRET));
    await migrate(db);
    const { credentials, keys } = testAuth(storage);
    expect(await credentials.authenticate(`Bearer ${secret}`)).toMatchObject({ userId, credential: { id } });
    expect(await keys.create(actor, intent)).toMatchObject({ secret, api_key: { id } });
    await expect(keys.create(actor, { ...intent, name: "another" })).rejects.toMatchObject({ code: "intent_conflict" });
    await expect(credentials.authenticate(`Bearer ${token}`)).rejects.toMatchObject({ code: "unauthorized" });
    // Another user's key of the same request id, and of this one's when the row is gone, have other secrets.
    await db.deleteFrom("api_key").where("id", "=", id).execute();
    expect((await keys.create(actor, intent)).secret).not.toBe(secret);
  });

  test("tokens that cost 0 before 040_usage_cost had no known price; a price that was known stays", async () => {
    const storage = await freshStorage(kind);
    const { db } = storage;
    const { userId } = (await makeUser(storage)).caller;
    await undoUsageCost(db);
    const row = { user_id: userId, runs: 1, input_tokens: 5 };
    await db
      .insertInto("usage_day")
      .values([
        { ...row, day: "2026-01-01", cost_usd: "0" },
        { ...row, day: "2026-01-02", cost_usd: "0.25" },
        { ...row, day: "2026-01-03", input_tokens: 0, cost_usd: "0" },
      ])
      .execute();
    await migrate(db);
    const days = await db.selectFrom("usage_day").select("cost_usd").orderBy("day").execute();
    expect(days.map(({ cost_usd: cost }) => (cost === null ? null : Number(cost)))).toEqual([null, 0.25, 0]);
  });

  test("a database of a newer version is refused by name, and left as it is", async () => {
    const { db } = await freshStorage(kind);
    await sql`insert into migration (name, timestamp) values ('999_later', now()::text)`.execute(db);
    const steps = () => sql`select * from migration order by name`.execute(db);
    const { rows } = await steps();
    for (const start of [migrate, assertMigrated]) {
      await expect(start(db)).rejects.toMatchObject({
        name: "SchemaNewer",
        message: /has 999_later, which this version/,
      });
    }
    expect((await steps()).rows).toEqual(rows);
  });
});
