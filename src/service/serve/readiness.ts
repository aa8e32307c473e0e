import { statfs } from "node:fs/promises";
import type { Logger } from "pino";
import type { Check } from "../http/routes/system.ts";
import { findWorkers, forgetWorker, noteWorker, type WorkerState } from "../runs/workers.ts";
import type { Sandboxes } from "../sandboxes/sandboxes.ts";
import type { Storage } from "../storage/storage.ts";

export interface ReadinessOptions {
  readonly storage: Storage;
  /** This process's own; absent in a process without workers. */
  readonly sandboxes: Sandboxes | undefined;
  /** What the service writes beside the database: PGlite, objects. Absent where it writes nothing here. */
  readonly directory: string | undefined;
  readonly leaseMs: number;
  readonly isShuttingDown: () => boolean;
  /** What is to be known of who shares a sandbox; undefined: nothing. */
  readonly warnOfSharing: () => Promise<string | undefined>;
  /** What is to be known of how much there is; undefined: nothing. */
  readonly warnOfScale: () => Promise<string | undefined>;
}

/** The database and its log need room for one checkpoint at least. */
const LEAST_FREE_BYTES = 64 * 1_024 * 1_024;

/** Looks at everything that a run needs. */
export async function lookAround(options: ReadinessOptions): Promise<Check[]> {
  const [database, disk, runners, sharing, scale] = await Promise.all([
    lookAtDatabase(options.storage),
    options.directory === undefined ? Promise.resolve([]) : lookAtDisk(options.directory).then((check) => [check]),
    lookAtWorkers(options),
    // A database that is away has a check of its own.
    options.warnOfSharing().catch(() => undefined),
    options.warnOfScale().catch(() => undefined),
  ]);
  return [
    database,
    ...disk,
    ...runners,
    ...(sharing === undefined ? [] : [{ name: "sandbox_sharing", ok: true, message: sharing }]),
    ...(scale === undefined ? [] : [{ name: "knowledge_scale", ok: true, message: scale }]),
    ...(options.isShuttingDown() ? [{ name: "running", ok: false, message: "the service is shutting down" }] : []),
  ];
}

async function lookAtDatabase(storage: Storage): Promise<Check> {
  return storage.db
    .selectFrom("instance")
    .select("key")
    .limit(1)
    .execute()
    .then(
      () => ({ name: "database", ok: true }),
      () => ({ name: "database", ok: false, message: "the database does not answer" }),
    );
}

async function lookAtDisk(directory: string): Promise<Check> {
  try {
    const { bavail, bsize } = await statfs(directory);
    if (bavail * bsize >= LEAST_FREE_BYTES) return { name: "disk", ok: true };
    return {
      name: "disk",
      ok: false,
      message: `less than ${LEAST_FREE_BYTES / 1_048_576} MiB are free for the data directory`,
    };
  } catch {
    // Without its path: this answer needs no credential.
    return { name: "disk", ok: false, message: "the data directory cannot be looked at" };
  }
}

async function lookAtWorkers({ storage, sandboxes, leaseMs }: ReadinessOptions): Promise<Check[]> {
  if (sandboxes !== undefined) return [showSandbox({ sandbox: await sandboxes.look() })];
  // Where the database is away nothing is known of workers; its own check fails.
  const workers = await findWorkers(storage, leaseMs).catch(() => undefined);
  if (workers === undefined) return [];
  if (workers.length === 0) {
    return [{ name: "worker", ok: false, message: `no worker has reported in the last ${leaseMs / 1_000} s` }];
  }
  const sandbox = workers.find(({ sandbox: { ok } }) => ok) ?? workers[0];
  return [{ name: "worker", ok: true }, ...(sandbox === undefined ? [] : [showSandbox(sandbox)])];
}

/** Why no run could start names addresses, images and what programs printed: that is for superadmins. */
function showSandbox({ sandbox: { ok, message } }: WorkerState): Check {
  if (ok) return { name: "sandbox", ok };
  const check = { name: "sandbox", ok, message: "no run could start in a sandbox now" };
  return message === undefined ? check : { ...check, detail: message };
}

/** Writes every quarter of a lease that this worker is running. @returns ends it */
export async function announceWorker(
  { storage, leaseMs, logger }: { storage: Storage; leaseMs: number; logger: Logger },
  name: string,
  sandboxes: Sandboxes,
): Promise<() => Promise<void>> {
  // PGlite has only one process: it looks at its own sandboxes.
  if (storage.engine === "pglite") return async () => undefined;
  let noting: Promise<void> | undefined;
  const note = async (): Promise<void> => {
    try {
      await noteWorker(storage, name, { sandbox: await sandboxes.look() });
    } catch (error) {
      // Probes of other processes then miss this worker, which is what they should report.
      logger.debug({ err: error }, "worker not announced");
    } finally {
      noting = undefined;
    }
  };
  await note();
  const timer = setInterval(() => {
    noting ??= note();
  }, leaseMs / 4);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await noting;
    await forgetWorker(storage, name);
  };
}
