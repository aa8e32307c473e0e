import { expect, test } from "vitest";
import { outcomeOf } from "../../../../src/service/runs/work/outcome.ts";
import { TurnEndedData } from "../../../../src/turnd/protocol/index.ts";

const USAGE = {
  input_tokens: 900,
  cached_input_tokens: 300,
  cache_write_tokens: 0,
  output_tokens: 40,
  reasoning_tokens: 10,
};
const WORK = { kind: "turn", text: "", mode: "execute", needsApproval: false } as const;

test.each(["completed", "failed", "cancelled"] as const)("the usage that a %s turn reports is its run's", (status) => {
  const ended = TurnEndedData.parse({
    status,
    output: "",
    resumed: false,
    degraded: false,
    usage: USAGE,
    cost_usd: 0.5,
    counts: { events: 1, records: 1, unknown: 0, tools: 0, retries: 0 },
    duration_ms: 1,
    digest: "0".repeat(64),
  });
  expect(outcomeOf(ended, WORK, undefined)).toMatchObject({ status, usage: { ...USAGE, cost_usd: 0.5 } });
  const { usage: _usage, ...withoutUsage } = ended;
  expect(outcomeOf(withoutUsage, WORK, undefined).usage).toBeUndefined();
});
