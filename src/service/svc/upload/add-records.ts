import { Added } from "../answers.ts";
import { readAnswer, type Client } from "../client.ts";
import { SvcError } from "../exit-codes.ts";
import type { Entry, Journal } from "./journal.ts";

/** What became of a batch. */
export interface AddedBatch {
  readonly added: readonly Entry[];
  readonly failed: readonly { readonly path: string; readonly code: string; readonly message: string }[];
  /** Their objects are gone: they have to be uploaded again. */
  readonly expired: readonly string[];
}

export interface AddOptions {
  readonly client: Client;
  readonly kbId: string;
  readonly journal: Journal;
}

/** Calls that the service may leave without an answer. */
const LATE_TRIES = 2;

/**
 * Adds records of uploaded objects, each once.
 *
 * Every call has `once`: an address that has a record by then gets no other. So a call whose answer is lost is made again
 * at once, and one that arrives late, after another run has added the same, adds nothing.
 */
export async function addRecords(options: AddOptions, entries: readonly Entry[]): Promise<AddedBatch> {
  const { journal } = options;
  const byAddress = new Map(entries.map((entry) => [entry.file_path ?? "", entry]));
  try {
    const answer = await addPatiently(options, byAddress);
    const added = answer.items.flatMap(({ item, file_id }) => {
      const entry = byAddress.get(item);
      return entry === undefined ? [] : [{ ...entry, step: "added" as const, file_id, at: Date.now() }];
    });
    await journal.record(added);
    const failed = answer.failed_items.map(({ item, error }) => ({
      path: byAddress.get(item)?.path ?? item,
      ...error,
    }));
    return { added, failed, expired: [] };
  } catch (error) {
    const gone = readUnknown(error);
    if (gone === undefined) throw error;
    const isGone = ({ file_path: address = "" }: Entry): boolean => gone.has(address);
    const expired = entries.filter(isGone).map(({ path }) => path);
    const left = entries.filter((entry) => !isGone(entry));
    if (expired.length === 0) throw error;
    if (left.length === 0) return { added: [], failed: [], expired };
    const rest = await addRecords(options, left);
    return { ...rest, expired: [...expired, ...rest.expired] };
  }
}

/** The client asks again what was lost or refused for a moment; this also what was not answered in time. */
async function addPatiently({ client, kbId }: AddOptions, byAddress: ReadonlyMap<string, Entry>) {
  const path = `/api/knowledge/databases/${encodeURIComponent(kbId)}/documents/add`;
  const sourcePaths = Object.fromEntries([...byAddress].map(([address, entry]) => [address, entry.path]));
  const body = { items: [...byAddress.keys()], params: { source_paths: sourcePaths, once: true } };
  for (let tried = 1; ; tried += 1) {
    try {
      return readAnswer(Added, await client.call({ method: "POST", path, body, isRepeatable: true }));
    } catch (error) {
      const isLate = error instanceof SvcError && error.code === "timed_out";
      if (!isLate || tried === LATE_TRIES) throw error;
    }
  }
}

/** The addresses that the service no longer has; then it has added nothing. */
function readUnknown(error: unknown): ReadonlySet<string> | undefined {
  if (!(error instanceof SvcError) || error.code !== "object_unknown") return undefined;
  const { items } = error.details;
  return new Set(Array.isArray(items) ? items.map(String) : []);
}
