import { Added } from "../answers.ts";
import { readAnswer } from "../client.ts";
import { SvcError } from "../exit-codes.ts";
import type { Entry, Journal } from "./journal.ts";
import { settle, type SettleOptions } from "./settle.ts";

/** What became of a batch. */
export interface AddedBatch {
  readonly added: readonly Entry[];
  readonly failed: readonly { readonly path: string; readonly code: string; readonly message: string }[];
  /** Their objects are gone: they have to be uploaded again. */
  readonly expired: readonly string[];
}

export interface AddOptions extends SettleOptions {
  readonly journal: Journal;
}

const TRIES = 4;

/**
 * Adds records of uploaded objects, each once.
 *
 * Adding is not repeatable: the same address twice is two records. So that a call is about to be made is written down
 * first, and what became of one without an answer is asked before it is made again.
 */
export async function addRecords(options: AddOptions, uploaded: readonly Entry[]): Promise<AddedBatch> {
  const done: Entry[] = [];
  let open = uploaded;
  for (let tried = 1; ; tried += 1) {
    try {
      const batch = await addOnce(options, open);
      return { ...batch, added: [...done, ...batch.added] };
    } catch (error) {
      if (tried === TRIES || !isDoubt(error)) throw error;
      const adding = open.map((entry) => options.journal.entries.get(entry.path) ?? entry);
      const settled = await settle(options, adding);
      const isAdded = (entry: Entry): boolean => settled.get(entry.path)?.state === "added";
      const found = adding.filter(isAdded).map((entry) => ({ ...entry, step: "added" as const, at: Date.now() }));
      await options.journal.record(found);
      done.push(...found);
      open = adding.filter((entry) => !isAdded(entry));
      if (open.length === 0) return { added: done, failed: [], expired: [] };
    }
  }
}

async function addOnce(options: AddOptions, entries: readonly Entry[]): Promise<AddedBatch> {
  const { client, kbId, journal } = options;
  await journal.record(entries.map((entry) => ({ ...entry, step: "adding", at: Date.now() })));
  const byAddress = new Map(entries.map((entry) => [entry.file_path ?? "", entry]));
  const sourcePaths = Object.fromEntries(entries.map(({ file_path: address = "", path }) => [address, path]));
  try {
    const path = `/api/knowledge/databases/${encodeURIComponent(kbId)}/documents/add`;
    const body = { items: [...byAddress.keys()], params: { source_paths: sourcePaths } };
    const answer = readAnswer(Added, await client.call({ method: "POST", path, body }));
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
    const rest = await addOnce(options, left);
    return { ...rest, expired: [...expired, ...rest.expired] };
  }
}

/** The addresses that the service does not know any more; then it has added nothing. */
function readUnknown(error: unknown): ReadonlySet<string> | undefined {
  if (!(error instanceof SvcError) || error.code !== "object_unknown") return undefined;
  const { items } = error.details;
  return new Set(Array.isArray(items) ? items.map(String) : []);
}

/** Whether the service may have done it all the same. */
function isDoubt(error: unknown): boolean {
  if (!(error instanceof SvcError)) return false;
  return error.code === "unreachable" || error.code === "timed_out" || (error.status ?? 0) >= 500;
}
