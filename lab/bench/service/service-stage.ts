import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Token } from "../../../src/service/protocol/auth.ts";
import type { EngineChoice } from "../../../src/service/storage/engine.ts";
import { createRandom } from "../../soak/random.ts";
import { ask, createCaller, type Caller } from "../../soak/service/caller.ts";
import { startStage, type EngineName, type Stage, type StageOptions } from "../../soak/service/stage.ts";

/** A whole service on one engine, with a caller, and a database beside it for yardsticks. */
export interface ServiceStage {
  readonly engine: EngineName;
  readonly stage: Stage;
  readonly caller: Caller;
  /** On PostgreSQL the service's own cluster; PGlite has room for one process, so another one. */
  readonly yardstick: EngineChoice;
}

/** Runs a measure with one process of the service, and ends everything. PostgreSQL waits for its disk, as it does elsewhere. */
export async function withService<T>(
  engine: EngineName,
  directory: string,
  use: (given: ServiceStage) => Promise<T>,
  options: StageOptions = {},
): Promise<T> {
  const own = join(directory, engine);
  mkdirSync(own, { mode: 0o755 });
  const stage = await startStage(engine, own, { roles: ["serve"], isDurable: true, ...options });
  try {
    const counts = { requests: 0, runs: 0, steers: 0, cancels: 0, resumes: 0, retries: 0, connections: 0, events: 0 };
    const given = { stage, random: createRandom(1), counts };
    const login = { username: "root", password: "a bench needs a password" };
    const asking = ["POST", "/api/auth/initialize", login] as const;
    const { access_token: token } = await ask(createCaller(given, undefined), Token, asking);
    const yardstick: EngineChoice =
      stage.database.kind === "pglite" ? { kind: "pglite", directory: join(own, "yardstick") } : stage.database;
    return await use({ engine, stage, caller: createCaller(given, token), yardstick });
  } finally {
    await stage.stopProcesses();
    await stage.stopDatabase();
  }
}
