import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { putAgents, readAgentsFile } from "../../../src/service/agents/seed.ts";
import { assertMigrated, migrate } from "../../../src/service/storage/migrate.ts";
import { ENGINES, freshStorage } from "../harness/storage.ts";

describe.each(ENGINES)("%s", (kind) => {
  test("a database of an older version is refused or brought up to date, with what is in it", async () => {
    const storage = await freshStorage(kind);
    const { db } = storage;
    await putAgents(storage, await readAgentsFile(undefined));
    const slugs = async () =>
      (await db.selectFrom("agent").select("slug").orderBy("slug").execute()).map(Object.values);
    const before = await slugs();
    await sql`alter table agent drop column knowledge_bases`.execute(db);
    await sql`delete from migration where name = '020_agent_knowledge'`.execute(db);
    await expect(assertMigrated(db)).rejects.toThrow("the database lacks 020_agent_knowledge");
    expect(await Promise.all([migrate(db), migrate(db)])).toContainEqual(["020_agent_knowledge"]);
    await assertMigrated(db);
    expect(await slugs()).toEqual(before);
    expect(await migrate(db)).toEqual([]);
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
