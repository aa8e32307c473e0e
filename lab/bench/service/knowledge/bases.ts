import { sql } from "kysely";
import { createPartitions } from "../../../../src/service/knowledge/state/partitions.ts";
import { bm25 } from "../../../../src/service/knowledge/lexical/bm25.ts";
import { gin } from "../../../../src/service/knowledge/lexical/gin.ts";
import type { EngineName } from "../../../soak/service/stage.ts";
import { percentile, type Figure } from "../../figures.ts";
import { timed } from "../../timed.ts";
import { queries, sections } from "./corpus.ts";
import { withKnowledge } from "./stage.ts";

const BASES = 1_000;
const SECTIONS = 2_000;
const QUERIES = 60;
/** Numbers of partitions that no knowledge base has. */
const FIRST_BARE = 1_000_000;

/** A thousand more knowledge bases: what each costs, and what they cost the questions to one that was there before. */
export async function benchBases(engine: EngineName, directory: string): Promise<Figure[]> {
  return withKnowledge(engine, directory, async (stage) => {
    const { storage, knowledge, base } = stage;
    await stage.import(await stage.upload([["a.md", sections(SECTIONS, 4)]]));
    const ask = async (): Promise<number> => {
      const times: number[] = [];
      for (const query of queries(QUERIES))
        times.push(await timed(() => knowledge.retrieve(base, { query, options: {} })));
      return percentile(times, 0.5);
    };
    await ask();
    const before = await ask();
    const lexical = engine === "pglite" ? bm25 : gin;
    const [made, bare]: [number[], number[]] = [[], []];
    for (let count = 0; count < BASES; count += 1) {
      made.push(await timed(() => stage.makeBase()));
      // A few are enough: they cost the questions as much as those of knowledge bases.
      if (count % 20 === 0)
        bare.push(
          await timed(() =>
            storage.transaction(async (trx) => {
              await createPartitions(trx, FIRST_BARE + count);
              await lexical.createIndex(trx, FIRST_BARE + count);
            }),
          ),
        );
    }
    const after = await ask();
    const tables = await sql<{ count: number }>`
      select count(*)::int as count from pg_class where relname like 'knowledge_chunk_%' and relkind = 'r'`.execute(
      storage.db,
    );
    const [each, partition] = [percentile(made, 0.5), percentile(bare, 0.5)];
    return [
      {
        measure: `knowledge ${engine}: each of ${BASES} knowledge bases made, p50 and longest`,
        turnd: `${each.toFixed(1)}, ${Math.max(...made).toFixed(0)} ms`,
        yardstick: `${partition.toFixed(1)} ms, only its partitions and index`,
        ratio: each / partition,
      },
      {
        measure: `knowledge ${engine}: retrieve from ${SECTIONS} chunks beside ${tables.rows[0]?.count ?? 0} others, p50`,
        turnd: `${after.toFixed(1)} ms`,
        yardstick: `${before.toFixed(1)} ms, before they were there`,
        ratio: after / before,
      },
    ];
  });
}
