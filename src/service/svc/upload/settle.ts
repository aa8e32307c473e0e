import { Records } from "../answers.ts";
import { readAnswer, type Client } from "../client.ts";
import type { Entry } from "./journal.ts";

/** What the service has of a file that an earlier upload worked on. */
export type Settled =
  /** It has a record. */
  | { readonly state: "added"; readonly entry: Entry }
  /** Its bytes are there, and no record. */
  | { readonly state: "uploaded"; readonly entry: Entry; readonly filePath: string };

export interface SettleOptions {
  readonly client: Client;
  readonly kbId: string;
}

type FoundRecord = ReturnType<typeof Records.parse>["files"][number];

/** Objects that no record names are kept for seven days. */
const OBJECT_MS = 6 * 24 * 3_600_000;
/** From so many on the records are listed instead of asked for one by one. */
const MANY = 50;
const PAGE = 500;

/**
 * Asks what became of entries. What it does not name has to be uploaded.
 *
 * The call that adds a record may still be under way: adding once more does no harm (`add-records.ts`).
 */
export async function settle(options: SettleOptions, entries: readonly Entry[]): Promise<Map<string, Settled>> {
  const listed = entries.length > MANY ? await listRecords(options) : undefined;
  const settled = new Map<string, Settled>();
  for (const entry of entries) {
    const found = await settleOne(options, entry, listed);
    if (found !== undefined) settled.set(entry.path, found);
  }
  return settled;
}

async function settleOne(
  options: SettleOptions,
  entry: Entry,
  listed: ReadonlyMap<string, readonly FoundRecord[]> | undefined,
): Promise<Settled | undefined> {
  // The listing is a quick look: records that change while it is paged through can be missing from it.
  const hasRecord =
    isAmong(entry, listed?.get(entry.sha256) ?? []) || isAmong(entry, await findRecords(options, entry.sha256));
  if (hasRecord) return { state: "added", entry };
  const isKept = Date.now() - entry.at < OBJECT_MS;
  if (entry.step !== "uploaded" || !isKept || entry.file_path === undefined) return undefined;
  return { state: "uploaded", entry, filePath: entry.file_path };
}

/** Content that was there before is any record's; otherwise the record of the very object that was uploaded. */
function isAmong(entry: Entry, records: readonly FoundRecord[]): boolean {
  if (entry.step === "already_there") return records.length > 0;
  return records.some(({ file_path: filePath }) => filePath === entry.file_path);
}

async function findRecords(options: SettleOptions, sha256: string): Promise<readonly FoundRecord[]> {
  return (await readPage(options, { content_hash: sha256, limit: PAGE })).files;
}

async function listRecords(options: SettleOptions): Promise<ReadonlyMap<string, readonly FoundRecord[]>> {
  const byHash = new Map<string, FoundRecord[]>();
  for (let skip = 0; ; skip += PAGE) {
    const { files, total } = await readPage(options, { skip, limit: PAGE });
    for (const file of files) byHash.set(file.content_hash, [...(byHash.get(file.content_hash) ?? []), file]);
    if (files.length === 0 || skip + files.length >= total) return byHash;
  }
}

async function readPage({ client, kbId }: SettleOptions, query: Readonly<Record<string, string | number>>) {
  const path = `/api/knowledge/databases/${encodeURIComponent(kbId)}/documents`;
  return readAnswer(Records, await client.call({ method: "GET", path, query }));
}
