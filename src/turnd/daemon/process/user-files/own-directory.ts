import { basename, dirname } from "node:path";
import { defined } from "../../../../kit/defined.ts";
import type { RunAs } from "../run-as.ts";
import type { Helper } from "../starter/starter.ts";
import { startTimeLimit } from "../time-limit.ts";
import { startFileWorker, WorkerError, type FileTask } from "./file-worker.ts";

/** A directory could not be made or removed by the CLIs' user. */
export class OwnDirectoryError extends Error {
  /** The system's name of the reason, such as `EACCES`; what the worker said where it has none. */
  readonly reason: string;

  constructor(message: string, reason: string) {
    super(message);
    this.name = "OwnDirectoryError";
    this.reason = reason;
  }
}

const LIMIT_MS = 10_000;

/**
 * Makes one directory in one that the CLIs' user can change, as that user: root walks no path there.
 *
 * @param path - absolute, its parent without links
 * @returns whether it was made; `false` where something has its name already
 * @throws {OwnDirectoryError} with the system's reason
 * @throws {ResourcesExhaustedError} if there is no process left for it
 */
export async function makeOwnDirectory(
  path: string,
  { runAs, starter }: { readonly runAs: RunAs; readonly starter?: Helper },
): Promise<boolean> {
  const answer = await starter?.ask(["make", `${runAs.uid}`, `${runAs.gid}`, path], { timeoutMs: LIMIT_MS });
  const said =
    answer === undefined
      ? await workOn(path, { runAs, task: "make", limitMs: LIMIT_MS })
      : answer.stdout || "nothing was answered";
  if (said === "created") return true;
  // Of another kind than a directory too.
  if (said === "exists" || said.startsWith("error kind")) return false;
  throw failed(path, "made", said, runAs);
}

export interface OwnRemoval {
  readonly runAs: RunAs;
  /** For all of it. */
  readonly limitMs: number;
  readonly signal?: AbortSignal;
  /** Only where nothing is in it. */
  readonly isEmpty?: boolean;
}

/**
 * Removes such a directory with all that is in it, as that user, by descriptors and through no link. A link in its place is
 * removed itself; none there is fine.
 *
 * @throws {OwnDirectoryError} where a part is left; what could be removed is
 * @throws the signal's reason, once it has aborted
 */
export async function removeOwnDirectory(path: string, removal: OwnRemoval): Promise<void> {
  const { runAs, limitMs, signal, isEmpty = false } = removal;
  const said = await workOn(path, {
    runAs,
    task: "remove",
    limitMs,
    ...(isEmpty ? {} : { options: ["recursive"] }),
    ...defined({ signal }),
  });
  if (said === "removed" || /^error (workspace )?ENOENT$/.test(said)) return;
  throw failed(path, "removed", said, runAs);
}

interface Work {
  readonly runAs: RunAs;
  readonly task: FileTask["task"];
  readonly options?: readonly string[];
  readonly limitMs: number;
  readonly signal?: AbortSignal;
}

/** @returns the last line of its answer */
async function workOn(path: string, { limitMs, signal, ...task }: Work): Promise<string> {
  signal?.throwIfAborted();
  const limit = startTimeLimit(limitMs, signal);
  const place = { workspace: dirname(path), path: Buffer.from(basename(path)) };
  try {
    const worker = await startFileWorker({ ...task, ...place, stallMs: limitMs });
    const giveUp = (): void => worker.giveUp(new WorkerError(`it took more than ${limitMs} ms`));
    limit.signal.addEventListener("abort", giveUp, { once: true });
    if (limit.signal.aborted) giveUp();
    let line: string | undefined;
    try {
      do line = await worker.readLine();
      while (line === "progress");
    } finally {
      await worker.end();
      limit.signal.removeEventListener("abort", giveUp);
    }
    signal?.throwIfAborted();
    return line ?? (limit.signal.aborted ? `it took more than ${limitMs} ms` : "its process was ended");
  } finally {
    limit.release();
  }
}

function failed(path: string, what: string, said: string, { uid }: RunAs): OwnDirectoryError {
  const [, name, where] = /^error (?:workspace )?(\S+)(?: ([0-9a-f]+))?$/.exec(said) ?? [];
  const reason = name ?? said;
  const part = where === undefined ? "" : ` (${Buffer.from(where, "hex").toString()})`;
  return new OwnDirectoryError(`${path} cannot be ${what} by uid ${uid}: ${reason}${part}`, reason);
}
