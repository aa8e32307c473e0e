import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { openEngine } from "../../../src/service/storage/engine.ts";
import { openStorage } from "../../../src/service/storage/storage.ts";
import { waitFor } from "../../harness/wait-for.ts";

/** A PGlite with the schema in it, to be copied: making one takes ten times the CPU of opening one (4.9 s and 0.4 s measured). */
export interface PgliteSeed {
  readonly dump: string;
  readonly directory: string;
}

/** Made by the first test that needs one; the others, in whatever process, wait for it. @param directory - of the test run */
export async function providePglite(directory: string): Promise<PgliteSeed> {
  const seed = join(directory, "pglite");
  if (!existsSync(seed)) {
    const making = join(directory, "pglite-in-the-making");
    if (isFirst(making)) {
      await makeSeed(making);
      renameSync(making, seed);
    } else await waitFor("the PGlite that another test makes", () => existsSync(seed));
  }
  return { dump: join(seed, "seed.tar"), directory: join(seed, "data") };
}

function isFirst(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

async function makeSeed(directory: string): Promise<void> {
  const data = join(directory, "data");
  const storage = await openStorage({
    engine: { kind: "pglite", directory: data },
    logger: pino({ level: "silent" }),
    isMigrating: true,
    leaseMs: 10_000,
  });
  await storage.close();
  // With the extensions of the service: without them it does not open again.
  const engine = await openEngine({ kind: "pglite", directory: data }, { onConnectionLost: () => undefined });
  if (engine.dump === undefined) throw new Error("PGlite cannot be dumped");
  writeFileSync(join(directory, "seed.tar"), Buffer.from(await (await engine.dump()).arrayBuffer()));
  await engine.close();
}
