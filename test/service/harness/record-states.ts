import { sql, type Kysely } from "kysely";
import { STATE_MACHINES } from "../../../scripts/generate/state-machines.ts";

/** Lets the database record every status that is written to a row, by any code. */
export async function recordStates<Tables>(db: Kysely<Tables>): Promise<void> {
  await sql`create table state_change (machine text not null, old text, new text not null)`.execute(db);
  await sql`create function note_state() returns trigger language plpgsql as $$
    begin
      if tg_op = 'INSERT' then
        insert into state_change values (tg_table_name, null, new.status);
      elsif old.status is distinct from new.status then
        insert into state_change values (tg_table_name, old.status, new.status);
      end if;
      return null;
    end $$`.execute(db);
  for (const { table } of STATE_MACHINES) {
    const name = sql.id(table);
    await sql`create trigger note_state after insert or update on ${name} for each row execute function note_state()`.execute(
      db,
    );
  }
}

/** What was recorded, as `table: from -> to`, each once; and what of it no state machine has. */
export async function readStates<Tables>(db: Kysely<Tables>): Promise<{ seen: string[]; unknown: string[] }> {
  const { rows } = await sql<{ machine: string; old: string | null; new: string }>`
    select distinct machine, old, new from state_change`.execute(db);
  const seen = rows.map(({ machine, old, new: next }) => `${machine}: ${old ?? "-"} -> ${next}`).toSorted();
  const known = new Set(
    STATE_MACHINES.flatMap(({ table, transitions }) =>
      transitions.map(({ from = "-", to }) => `${table}: ${from} -> ${to}`),
    ),
  );
  return { seen, unknown: seen.filter((each) => !known.has(each)) };
}
