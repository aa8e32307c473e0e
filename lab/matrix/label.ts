import { z } from "zod";
import { readJsonLine } from "../../src/turnd/daemon/executors/contract/json-line.ts";
import type { Label } from "./scene.ts";

const Printed = z.looseObject({
  type: z.string(),
  sessionID: z.string(),
  part: z
    .looseObject({
      cost: z.number().default(0),
      tokens: z
        .looseObject({
          input: z.number(),
          output: z.number(),
          reasoning: z.number(),
          cache: z.object({ read: z.number(), write: z.number() }),
        })
        .optional(),
    })
    .optional(),
});

/**
 * A label as `expected.json` has it. How the turn ended is the scene's word; ids and tokens, which nobody can know before,
 * are read from what was printed, without any of turnd's translation.
 */
export function toExpected(label: Label, stdout: string, session: string | undefined) {
  const records = stdout.split("\n").flatMap((line) => {
    const read = readJsonLine(line);
    const record = read.kind === "value" ? Printed.safeParse(read.value).data : undefined;
    return record === undefined ? [] : [record];
  });
  const { status, code = null, also = [], finalText = null, toolCalls = 0, unknownRecords = 0, why } = label;
  const native = records[0]?.sessionID ?? null;
  return {
    status,
    code,
    also,
    native_session_id: native,
    resumed: session === undefined ? null : (label.resumed ?? native === session),
    final_text: finalText,
    tool_calls: toolCalls,
    usage: sumUsage(records),
    unknown_records: unknownRecords,
    why,
  };
}

function sumUsage(records: readonly z.infer<typeof Printed>[]) {
  const finished = records.filter(({ type }) => type === "step_finish");
  if (finished.length === 0) return null;
  const sum = {
    input_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    cost: 0,
    steps: finished.length,
  };
  for (const { part } of finished) {
    sum.cost += part?.cost ?? 0;
    if (part?.tokens === undefined) continue;
    sum.input_tokens += part.tokens.input;
    sum.output_tokens += part.tokens.output;
    sum.reasoning_tokens += part.tokens.reasoning;
    sum.cache_read_tokens += part.tokens.cache.read;
    sum.cache_write_tokens += part.tokens.cache.write;
  }
  return sum;
}
