import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createDriftBook } from "../../../../src/turnd/daemon/executors/drift/drift.ts";
import { kindOf } from "../../../../src/turnd/daemon/executors/drift/shapes.ts";
import { EXECUTORS, findExecutor } from "../../../../src/turnd/daemon/executors/registry.ts";
import type { Executor } from "../../../../src/turnd/daemon/executors/contract/executor.ts";
import { renderShapes, shapesPath } from "../../../../scripts/generate/shapes.ts";
import type { Drift } from "../../../../src/turnd/protocol/index.ts";
import { REPOSITORY } from "../../../harness/temporary.ts";
import { listRecordings, readLines } from "./recordings.ts";

/** The drift of records given as JSON, a line each. */
function count(executor: Executor, ...lines: readonly string[]): Drift {
  const translator = executor.createTranslator({
    requestedSession: null,
    drift: (record, line) => watch(record, line),
  });
  const book = createDriftBook(executor.records);
  const watch = book.watch("9.9.9", "here");
  lines.forEach((text, index) => translator.push({ source: "stdout", number: index + 1, text, isTruncated: false }));
  const [drift] = book.report();
  if (drift === undefined) throw new Error("nothing was opened");
  return drift;
}

const found = ({ entries }: Drift): string[] =>
  entries.map(({ what, name, count: times }) => `${what} ${name} ${times}`);

function executorOf(id: string): Executor {
  const executor = findExecutor(id);
  if (executor === undefined) throw new Error(`no executor ${id}`);
  return executor;
}
const cliA = executorOf("cli-a");
const cliB = executorOf("cli-b");

/** Changed by a test, in any way. */
type Json = ReturnType<typeof JSON.parse>;

/** A real record of the newest version that has such a recording, changed. */
function recordOf(executor: Executor, name: string, kind: string, change: (record: Json) => void): string {
  const directory = listRecordings(join(REPOSITORY, "fixtures"), executor.id)
    .filter((recording) => basename(recording.directory) === name)
    .toSorted(({ turn: one }, { turn: other }) =>
      other.cli_version.localeCompare(one.cli_version, "en", { numeric: true }),
    )[0]?.directory;
  const path = join(directory ?? name, "stdout.jsonl");
  const records = readLines(path, "stdout").map(({ text }) => JSON.parse(text));
  const record = records.find((one) => kindOf(one, executor.records) === kind);
  change(record);
  return JSON.stringify(record);
}

describe.each(EXECUTORS)("$id", (executor) => {
  test("its shapes are those of the schema and the recordings; `node scripts/generate/shapes.ts` writes them", async () => {
    expect(readFileSync(shapesPath(executor.id), "utf8")).toBe(await renderShapes(executor));
  });

  test("nothing in a recording of the contract's version, or of a later one, is unknown", () => {
    const version = executor.contractVersion;
    const recordings = listRecordings(join(REPOSITORY, "fixtures"), executor.id).filter(
      ({ turn }) => turn.cli_version.localeCompare(version, "en", { numeric: true }) >= 0,
    );
    expect(recordings.length).toBeGreaterThan(30);
    const lines = recordings.flatMap(({ directory }) => readLines(join(directory, "stdout.jsonl"), "stdout"));
    const drift = count(executor, ...lines.map(({ text }) => text));
    expect(drift.records).toBeGreaterThan(100);
    expect(found(drift)).toEqual([]);
  });

  test("whatever a CLI prints, counting it throws nothing", () => {
    fc.assert(
      fc.property(fc.array(fc.json({ maxDepth: 6 })), (lines) => {
        expect(count(executor, ...lines).records).toBe(lines.filter((line) => line.trim() !== "").length);
      }),
      { numRuns: 200 },
    );
  });
});

test("a new type, a new field and a new tool are counted, each with the line that showed it first", () => {
  const field = recordOf(cliA, "tool-succeeds", "text", (record) => (record.part.added = { deep: 1 }));
  const tool = recordOf(cliA, "tool-succeeds", "tool_use", (record) => (record.part.tool = "telepathy"));
  const drift = count(cliA, field, field, tool, '{"type":"thought","sessionID":"s"}');
  expect(drift.entries).toEqual([
    { what: "field", name: "text part.added", count: 2, first_seen: { in: "here", line: 1 } },
    { what: "tool", name: "telepathy", count: 1, first_seen: { in: "here", line: 3 } },
    { what: "type", name: "thought", count: 1, first_seen: { in: "here", line: 4 } },
  ]);
  expect([drift.cli_version, drift.known_version, drift.records]).toEqual(["9.9.9", cliA.records.known.version, 4]);
});

test("of CLI B's items, a new type and a new field are counted", () => {
  const field = recordOf(cliB, "shell-succeeds", "item.completed/command_execution", (record) => (record.item.pid = 7));
  const drift = count(cliB, field, '{"type":"item.started","item":{"id":"i","type":"dream"}}', '{"type":"item.done"}');
  expect(found(drift)).toEqual([
    "field item.completed/command_execution item.pid 1",
    "type item.started/dream 1",
    "type item.done 1",
  ]);
});

test("what is not the CLI's own is no drift: arguments, a server's answer, an MCP tool's name", () => {
  const change = (record: Json): void => {
    record.part.tool = "server_tool";
    Object.assign(record.part.state, { title: "", metadata: { truncated: false } });
    record.part.state.input = { anything: { at: "all" } };
    record.part.metadata = { provider: { says: 1 } };
  };
  expect(found(count(cliA, recordOf(cliA, "tool-succeeds", "tool_use", change)))).toEqual([]);
});

test("a tool of the CLI's own that a later version calls otherwise is counted, with an underscore or without", () => {
  const todo = recordOf(cliA, "todo-list", "tool_use", (record) => (record.part.tool = "todo_write"));
  expect(found(count(cliA, todo))).toEqual(["tool todo_write 1"]);
});

test("names of JavaScript's own properties are fields like others", () => {
  const line = recordOf(cliA, "tool-succeeds", "text", () => {}).replace(
    '"part":{',
    '"part":{"__proto__":1,"toString":2,',
  );
  expect(found(count(cliA, line, '{"type":"constructor"}', '{"type":"__proto__"}'))).toEqual([
    "field text part.__proto__ 1",
    "field text part.toString 1",
    "type constructor 1",
    "type __proto__ 1",
  ]);
});

test("what a CLI makes up without end is counted, not kept", () => {
  const lines = Array.from({ length: 300 }, (_, index) => `{"type":"made-up-${index}-${"x".repeat(500)}"}`);
  const { entries, more } = count(cliA, ...lines);
  expect([entries.length, more]).toEqual([200, 100]);
  expect(entries.every(({ name }) => name.length <= 200)).toBe(true);
});

test("records nested without end are counted without following them", () => {
  const deep = `${'{"part":'.repeat(5_000)}1${"}".repeat(5_000)}`;
  expect(found(count(cliA, `{"type":"text","part":${deep}}`))).toEqual(["field text part.part 1"]);
});
