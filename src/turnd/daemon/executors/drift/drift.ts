import type { DriftWatch, RecordTable } from "../contract/records.ts";
import type { Drift, DriftEntry } from "../../../protocol/index.ts";
import { createKnownTree } from "./known-tree.ts";
import { isObject, kindOf } from "./shapes.ts";

/** Counts what the versions of one CLI print that we do not know. */
export interface DriftBook {
  /**
   * @param version - of the CLI that printed; undefined when it is not known
   * @param place - the turn or recording, for `first_seen`
   */
  watch(version: string | undefined, place: string): DriftWatch;
  /** By version, in the order in which they came. */
  report(): Drift[];
}

/** Most entries of one version; what a hostile CLI makes up beyond them is only counted. */
const MAX_ENTRIES = 200;
/** Versions come from the CLI or a recording; those beyond are counted as one. */
const MAX_VERSIONS = 50;
const MAX_NAME_CHARACTERS = 200;

/** Opens a book for one CLI. */
export function createDriftBook(table: RecordTable): DriftBook {
  const tree = createKnownTree(table.known, table);
  const pages = new Map<string, Page>();

  return {
    watch(version = "unknown", place) {
      const name = pages.has(version) || pages.size < MAX_VERSIONS ? version : "further versions";
      const page = pages.get(name) ?? createPage();
      pages.set(name, page);
      return (record, line) => {
        const report = (what: DriftEntry["what"], found: string): void => note(page, what, found, { in: place, line });
        page.records += 1;
        if (!isObject(record)) return report("type", "(none)");
        const kind = (): string => kindOf(record, table) ?? "(none)";
        const isKnown = tree.findUnknown(record, (path) => report("field", `${kind()} ${path}`));
        if (!isKnown) return report("type", kind());
        const tool = table.unmappedTool(record);
        if (tool !== undefined) report("tool", tool);
      };
    },
    report: () =>
      [...pages].map(([version, { records, entries, more }]) => ({
        cli_version: version,
        known_version: table.known.version,
        records,
        entries: [...entries.values()].map((entry) => ({ ...entry })),
        more,
      })),
  };
}

interface Page {
  records: number;
  readonly entries: Map<string, DriftEntry>;
  more: number;
}

function createPage(): Page {
  return { records: 0, entries: new Map(), more: 0 };
}

function note(page: Page, what: DriftEntry["what"], given: string, seen: DriftEntry["first_seen"]): void {
  const name = given.slice(0, MAX_NAME_CHARACTERS);
  const entry = page.entries.get(`${what} ${name}`);
  if (entry !== undefined) entry.count += 1;
  else if (page.entries.size >= MAX_ENTRIES) page.more += 1;
  else page.entries.set(`${what} ${name}`, { what, name, count: 1, first_seen: seen });
}
