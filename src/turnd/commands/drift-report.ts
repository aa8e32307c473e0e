import type { CliName, Drift } from "../protocol/index.ts";
import { createDriftBook, type DriftBook } from "../daemon/executors/drift/drift.ts";
import type { DriftWatch } from "../daemon/executors/contract/records.ts";
import type { Redact } from "../daemon/event-log/redact.ts";
import type { Executor } from "../daemon/executors/contract/executor.ts";

/** Counts what recordings of all CLIs contain that turnd does not know. */
export interface DriftCount {
  watch(executor: Executor, version: string | undefined, directory: string): DriftWatch;
  /** Lines for people, newline included: one per version, and below it what is unknown, secrets taken out. */
  format(redact: Redact): string;
  /** The same as data. */
  report(): readonly (Drift & { readonly executor: CliName })[];
}

/** Starts counting; nothing is counted yet. */
export function createDriftCount(): DriftCount {
  const books = new Map<CliName, DriftBook>();
  return {
    watch(executor, version, directory) {
      const book = books.get(executor.id) ?? createDriftBook(executor.records);
      books.set(executor.id, book);
      return book.watch(version, directory);
    },
    report: () => [...books].flatMap(([executor, book]) => book.report().map((drift) => ({ executor, ...drift }))),
    format: (redact) =>
      [...books].flatMap(([id, book]) => book.report().map((drift) => redact(formatDrift(id, drift, redact)))).join(""),
  };
}

function formatDrift(
  id: CliName,
  { cli_version, known_version, records, entries, more }: Drift,
  redact: Redact,
): string {
  const version = cli_version === known_version ? cli_version : `${cli_version} beside ${known_version}`;
  const lines = [
    `drift ${id} ${version}: ${entries.length === 0 ? "nothing" : entries.length} unknown in ${records} records`,
  ];
  for (const { what, name, count, first_seen: first } of entries) {
    lines.push(`  ${what.padEnd(5)}  ${printable(redact(name))}  ${count}x, first in ${first.in}:${first.line}`);
  }
  if (more > 0) lines.push(`  and ${more} sightings of more than can be listed`);
  return lines.map((line) => `${line}\n`).join("");
}

/** Output of a CLI must have no effect on the terminal. */
function printable(name: string): string {
  return /^[\x20-\x7e]*$/.test(name) ? name : JSON.stringify(name).replaceAll(/[^\x20-\x7e]/g, "?");
}
