import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Label } from "./case.ts";

const Line = z.object({
  type: z.string(),
  thread_id: z.string().optional(),
  usage: z.record(z.string(), z.unknown()).optional(),
  item: z.looseObject({ id: z.string(), type: z.string(), text: z.string().optional() }).optional(),
});
const TOOLS = /^(?:command_execution|file_change|mcp_tool_call|collab_tool_call|web_search)$/;

/**
 * Writes `expected.json`: the scenario's label, and what stands on stdout word for word (thread, usage).
 *
 * Tells where the run was not what its scenario wanted: then the case is wrong, or the CLI is not as one thinks.
 */
export function writeLabel(directory: string, label: Label, requested: string | null): void {
  const lines = readFileSync(join(directory, "stdout.jsonl"), "utf8")
    .split("\n")
    .flatMap((line) => (line === "" ? [] : [Line.parse(JSON.parse(line))]));
  const thread = lines.find(({ type }) => type === "thread.started")?.thread_id ?? null;
  const items = lines.flatMap(({ item }) => (item === undefined ? [] : [item]));
  const said = items.findLast(({ type }) => type === "agent_message")?.text ?? null;
  const tools = new Set(items.filter(({ type }) => TOOLS.test(type)).map(({ id }) => id)).size;
  const isOther = requested !== null && thread !== null && thread !== requested;
  if (!isOther && said !== (label.text ?? null)) console.log(`? ${directory}: text is ${JSON.stringify(said)}`);
  if (!isOther && tools !== (label.tools ?? 0)) console.log(`? ${directory}: ${tools} tools`);
  const expected = {
    status: label.status,
    code: label.code ?? null,
    also: label.also ?? [],
    native_session_id: thread,
    resumed: requested === null ? null : (label.resumed ?? (thread !== null && !isOther)),
    final_text: label.text ?? null,
    tool_calls: label.tools ?? 0,
    usage: lines.findLast(({ usage }) => usage !== undefined)?.usage ?? null,
    unknown_records: 0,
    why: label.why,
  };
  writeFileSync(join(directory, "expected.json"), `${JSON.stringify(expected, null, 2)}\n`);
}
