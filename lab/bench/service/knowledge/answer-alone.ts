import { pino } from "pino";
import { chunkTableName } from "../../../../src/service/knowledge/state/partitions.ts";
import { tokenize } from "../../../../src/service/knowledge/indexing/tokens.ts";
import { openObjectDirectory } from "../../../../src/service/storage/object-directory.ts";
import { openEngine } from "../../../../src/service/storage/engine.ts";
import { openStorage } from "../../../../src/service/storage/storage.ts";
import { makeKnowledge } from "../../../../test/service/harness/knowledge-room.ts";
import { askBareBm25 } from "./bare.ts";
import { queries } from "./corpus.ts";

// Opens a PGlite directory, answers questions to its first knowledge base, and prints what that took. `room`: as the service
// does; `bare`: the engine's own ranking and nothing else.
const [how, directory] = process.argv.slice(2);
if (directory === undefined) throw new Error("room or bare, and a directory, are needed");
const QUESTIONS = 60;

if (how === "room") {
  const logger = pino({ level: "silent" });
  const engine = { kind: "pglite", directory } as const;
  const storage = await openStorage({ engine, logger, isMigrating: true, leaseMs: 10_000 });
  const knowledge = await makeKnowledge(storage, openObjectDirectory(`${directory}-objects`));
  const base = await storage.db.selectFrom("knowledge_base").selectAll().orderBy("no").executeTakeFirstOrThrow();
  const openedMs = performance.now();
  for (const query of queries(QUESTIONS)) await knowledge.retrieve(base, { query, options: {} });
  report(openedMs);
  await knowledge.close();
  await storage.close();
} else {
  const engine = await openEngine({ kind: "pglite", directory }, { onConnectionLost: () => undefined });
  const base = await engine.db.selectFrom("knowledge_base").select("no").orderBy("no").executeTakeFirstOrThrow();
  const openedMs = performance.now();
  for (const query of queries(QUESTIONS))
    await engine.db.transaction().execute((trx) => askBareBm25(trx, chunkTableName(base.no), tokenize(query)));
  report(openedMs);
  await engine.close();
}

function report(openedMs: number): void {
  const residentBytes = process.resourceUsage().maxRSS * 1_024;
  process.stdout.write(`${JSON.stringify({ openedMs, residentBytes })}\n`);
}
