import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { Metadata, Todos } from "../../src/daemon/executors/cli-a/translate/tools.ts";
import { CliARecord } from "../../src/daemon/executors/cli-a/translate/record.ts";
import { CliBRecord } from "../../src/daemon/executors/cli-b/translate/record.ts";
import { readJsonLine } from "../../src/daemon/executors/contract/json-line.ts";
import { EXECUTORS, findExecutor } from "../../src/daemon/executors/registry.ts";
import {
  collectFields,
  isObject,
  kindOf,
  type Fields,
  type KnownShapes,
} from "../../src/daemon/executors/drift/shapes.ts";
import type { CliName } from "../../src/protocol/index.ts";
import { listReadFields, type ReadFields } from "./shapes/read-fields.ts";

const ROOT = join(import.meta.dirname, "../..");

interface Source {
  /** The package of `sandbox/package.json` that pins the version. */
  readonly pin: string;
  /** What the translator reads of a record. */
  readonly reads: z.ZodType;
  /** What it reads of a part that this schema leaves open. */
  readonly readsWithin: Readonly<Record<string, readonly z.ZodType[]>>;
  /** Measured on the pinned version, but in none of its recordings: `<kind> <path>`. */
  readonly documented: readonly string[];
  /** What is not the CLI's own: whatever a provider, a tool's server or a language server puts there. */
  readonly open: readonly string[];
}

const SOURCES: Readonly<Record<CliName, Source>> = {
  "cli-a": {
    pin: "opencode-linux-x64",
    reads: CliARecord,
    readsWithin: { "part.state.metadata": [Metadata, Todos] },
    // In a git work tree, of a search, of a long output, of a compacted call. Source: docs/contracts/cli-a.md §1, §1.1.
    documented: [
      "step_start part.snapshot",
      "step_finish part.snapshot",
      "text part.metadata",
      "reasoning part.metadata",
      "tool_use part.metadata",
      "tool_use part.state.metadata.count",
      "tool_use part.state.metadata.matches",
      "tool_use part.state.metadata.outputPath",
      "tool_use part.state.time.compacted",
      "error error.data.providerID",
      "error error.data.retries",
    ],
    open: ["part.metadata", "part.state.metadata.diagnostics", "error.data.responseHeaders", "error.data.metadata"],
  },
  "cli-b": {
    pin: "codex-linux-x64",
    reads: CliBRecord,
    readsWithin: {},
    documented: [],
    open: ["item.result.content[]", "item.result.structured_content"],
  },
};

/** Where the shapes of a CLI are kept. */
export function shapesPath(id: CliName): string {
  return join(ROOT, `src/daemon/executors/${id}/shapes.json`);
}

/** The text of `shapes.json` as the record schema and the recordings of the pinned version have it now. */
export async function renderShapes(id: CliName): Promise<string> {
  const source = SOURCES[id];
  const version = await pinnedVersion(source.pin);
  const kinds = new Map<string, Kind>();
  const find = (name: string): Kind => {
    const kind = kinds.get(name) ?? { seen: new Map(), marks: new Map() };
    kinds.set(name, kind);
    return kind;
  };
  for (const [name, fields] of listReadFields(source.reads, source.readsWithin)) find(name).marks = fields;
  for (const record of await readRecords(join(ROOT, "fixtures", id, version))) {
    const name = kindOf(record, findExecutor(id)?.records.refinedBy);
    if (name === undefined) continue;
    const { seen, marks } = find(name);
    const known: Record<string, string> = Object.fromEntries(source.open.map((path) => [path, "- open"]));
    for (const [path, names] of marks) known[path] ??= `- ${[...names].join(" ")}`;
    collectFields(record, known, seen);
  }
  for (const [name = "", path = ""] of source.documented.map((line) => line.split(" "))) {
    if (!find(name).seen.has(path)) find(name).seen.set(path, new Set(["documented"]));
  }
  const shapes: KnownShapes = {
    version,
    kinds: Object.fromEntries(inOrder(kinds).map(([name, kind]) => [name, renderKind(kind, source.open)])),
  };
  return `${JSON.stringify(shapes, null, 2)}\n`;
}

interface Kind {
  readonly seen: Map<string, Set<string>>;
  marks: ReadFields;
}

function renderKind({ seen, marks }: Kind, open: readonly string[]): Record<string, string> {
  const paths = new Map([...seen.keys(), ...marks.keys()].map((path) => [path, ""]));
  return Object.fromEntries(
    inOrder(paths).map(([path]) => {
      const names = [...(marks.get(path) ?? []), ...(open.includes(path) ? ["open"] : [])];
      const types = [...(seen.get(path) ?? ["unseen"])].toSorted().join("|");
      return [path, [types, ...new Set(names.toSorted())].join(" ")];
    }),
  );
}

async function readRecords(directory: string): Promise<Fields[]> {
  const records: Fields[] = [];
  for (const name of await readdir(directory)) {
    const lines = (await readFile(join(directory, name, "stdout.jsonl"), "utf8")).split("\n");
    for (const line of lines) {
      const read = readJsonLine(line);
      if (read.kind === "value" && isObject(read.value)) records.push(read.value);
    }
  }
  return records;
}

const Pins = z.object({ optionalDependencies: z.record(z.string(), z.string()) });

async function pinnedVersion(pin: string): Promise<string> {
  const { optionalDependencies } = Pins.parse(JSON.parse(await readFile(join(ROOT, "sandbox/package.json"), "utf8")));
  const version = /\d+\.\d+\.\d+/.exec(optionalDependencies[pin] ?? "")?.[0];
  if (version === undefined) throw new Error(`sandbox/package.json pins no version of ${pin}`);
  return version;
}

function inOrder<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].toSorted(([left], [right]) => (left < right ? -1 : 1));
}

if (import.meta.main) {
  for (const { id } of EXECUTORS) await writeFile(shapesPath(id), await renderShapes(id));
}
