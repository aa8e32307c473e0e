import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { LoggedEvent, TurnResult } from "../../protocol/index.ts";
import { readJsonLine } from "../executors/contract/json-line.ts";
import type { RecordTable } from "../executors/contract/records.ts";
import { collectFields, isObject, kindOf } from "../executors/drift/shapes.ts";

/** What a turn showed, without what differs from run to run: texts, ids, times, how often. */
export const Observation = z.object({
  /** How it ended: `status`, `code`, `exit`, `resumed`, `degraded`, `output`, `usage`. */
  outcome: z.record(z.string(), z.string()),
  /** Types of its events, apart by spaces; of retries with their code. */
  events: z.string(),
  /** `name kind status` of its tool calls, apart by commas. */
  tools: z.string(),
  /** Kinds of records; of each the field paths and their JSON types. */
  kinds: z.record(z.string(), z.record(z.string(), z.string())),
});
export type Observation = z.infer<typeof Observation>;

/** A file of `baseline/`: what a version showed in every scenario. */
export const Baseline = z.object({ version: z.string(), scenarios: z.record(z.string(), Observation) });
export type Baseline = z.infer<typeof Baseline>;

/**
 * Reduces an ended turn to what can be compared.
 *
 * @param stdoutPath - the records, as the CLI wrote them
 */
export async function observe(
  result: TurnResult,
  events: readonly LoggedEvent[],
  stdoutPath: string,
  table: RecordTable,
): Promise<Observation> {
  return {
    outcome: describeOutcome(result),
    events: inOrder(events.map(({ type, data }) => (type === "retry" ? `${type}:${data.code}` : type))).join(" "),
    tools: inOrder(
      events.flatMap(({ type, data }) => (type === "tool.ended" ? [`${data.name} ${data.kind} ${data.status}`] : [])),
    ).join(", "),
    // A turn that was refused before its process started has no output.
    kinds: collectKinds(await readFile(stdoutPath, "utf8").catch(() => ""), table),
  };
}

function describeOutcome({
  status,
  failure,
  exit,
  resumed,
  degraded,
  output,
  usage,
}: TurnResult): Observation["outcome"] {
  return {
    status,
    code: failure?.code ?? "-",
    exit: describeExit(exit),
    resumed: resumed ? "yes" : "no",
    degraded: degraded ? "yes" : "no",
    output: output === null ? "no" : "yes",
    usage: usage === undefined ? "no" : "yes",
  };
}

function describeExit(exit: TurnResult["exit"]): string {
  if (exit === undefined || exit === null) return "unknown";
  return exit.signal === null ? `code ${exit.code}` : `signal ${exit.signal}`;
}

function collectKinds(stdout: string, table: RecordTable): Observation["kinds"] {
  const kinds = new Map<string, Map<string, Set<string>>>();
  for (const line of stdout.split("\n")) {
    const read = readJsonLine(line);
    if (read.kind === "blank") continue;
    const record = read.kind === "value" && isObject(read.value) ? read.value : {};
    const kind = (read.kind === "value" ? kindOf(record, table) : undefined) ?? "(no record)";
    const fields = kinds.get(kind) ?? new Map<string, Set<string>>();
    kinds.set(kind, fields);
    collectFields(record, table.known.kinds[kind] ?? {}, fields);
  }
  return toObject(kinds, (fields) => toObject(fields, (types) => inOrder(types).join("|")));
}

function toObject<From, To>(map: ReadonlyMap<string, From>, change: (value: From) => To): Record<string, To> {
  const entries = [...map].toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, value]) => [key, change(value)]));
}

function inOrder(values: Iterable<string>): string[] {
  return [...new Set(values)].toSorted();
}
