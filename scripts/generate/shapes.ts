import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Executor } from "../../src/turnd/daemon/executors/contract/executor.ts";
import { readJsonLine } from "../../src/turnd/daemon/executors/contract/json-line.ts";
import { EXECUTORS } from "../../src/turnd/daemon/executors/registry.ts";
import { collectFields, isObject, kindOf, type Fields } from "../../src/turnd/daemon/executors/drift/shapes.ts";
import type { KnownShapes } from "../../src/turnd/daemon/executors/contract/records.ts";
import { listReadFields, type ReadFields } from "./shapes/read-fields.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Where the shapes of a CLI are kept. */
export function shapesPath(id: string): string {
  return join(ROOT, `src/turnd/daemon/executors/${id}/shapes.json`);
}

/** The text of `shapes.json` as the record schema and the recordings of the contract's version and later ones have it now. */
export async function renderShapes(executor: Executor, recordings = join(ROOT, "fixtures")): Promise<string> {
  const { id, contractVersion, records, shapeSource: source } = executor;
  const version = source.pin === undefined ? contractVersion : await pinnedVersion(source.pin);
  const kinds = new Map<string, Kind>();
  const find = (name: string): Kind => {
    const kind = kinds.get(name) ?? { seen: new Map(), marks: new Map() };
    kinds.set(name, kind);
    return kind;
  };
  for (const [name, fields] of listReadFields(source.reads, source.readsWithin, records)) find(name).marks = fields;
  const known = await listVersions(join(recordings, id), contractVersion);
  for (const record of (await Promise.all(known.map((name) => readRecords(join(recordings, id, name))))).flat()) {
    const name = kindOf(record, records);
    if (name === undefined) continue;
    const { seen, marks } = find(name);
    const paths: Record<string, string> = Object.fromEntries(source.open.map((path) => [path, "- open"]));
    for (const [path, names] of marks) paths[path] ??= `- ${[...names].join(" ")}`;
    collectFields(record, paths, seen);
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

/** What is recorded of that version and of newer ones. */
async function listVersions(directory: string, oldest: string): Promise<string[]> {
  const isKnown = (name: string): boolean => name.localeCompare(oldest, "en", { numeric: true }) >= 0;
  return (await readdir(directory)).filter(isKnown).toSorted();
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
  for (const executor of EXECUTORS) await writeFile(shapesPath(executor.id), await renderShapes(executor));
}
