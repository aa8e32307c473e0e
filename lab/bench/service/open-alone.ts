import { openEngine } from "../../../src/service/storage/engine.ts";

// Opens a PGlite directory, asks it one thing, and waits to be killed: what any program on that directory has to wait for.
const [directory] = process.argv.slice(2);
if (directory === undefined) throw new Error("a directory is needed");
const engine = await openEngine({ kind: "pglite", directory }, { onConnectionLost: () => undefined });
await engine.db.selectFrom("instance").select("key").limit(1).execute();
process.stdout.write('{"msg":"listening"}\n');
setInterval(() => undefined, 60_000);
