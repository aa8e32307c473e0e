import type { Usage } from "../../../../protocol/index.ts";
import type { CliBUsage } from "../records/record.ts";

/** Tokens of a thread that has not run yet. */
export const NO_USAGE: Usage = {
  input_tokens: 0,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
};

/** CLI B's words in ours. Its input includes cached tokens and its output reasoning already. */
export function toUsage(usage: CliBUsage): Usage {
  return {
    input_tokens: usage.input_tokens,
    cached_input_tokens: usage.cached_input_tokens,
    cache_write_tokens: usage.cache_write_input_tokens,
    output_tokens: usage.output_tokens,
    reasoning_tokens: usage.reasoning_output_tokens,
  };
}

/**
 * What one turn used: the difference of two totals of its thread.
 *
 * @returns undefined when that is unknown: no change at all means that the provider sent no usage or that the turn was a
 * review (always zero), and a total that shrank means that the CLI lost part of its history
 * @see docs/contracts/cli-b.md §2.3 (7), §4, §13
 */
export function subtractUsage(after: Usage, before: Usage): Usage | undefined {
  const used: Usage = {
    input_tokens: after.input_tokens - before.input_tokens,
    cached_input_tokens: after.cached_input_tokens - before.cached_input_tokens,
    cache_write_tokens: after.cache_write_tokens - before.cache_write_tokens,
    output_tokens: after.output_tokens - before.output_tokens,
    reasoning_tokens: after.reasoning_tokens - before.reasoning_tokens,
  };
  const counts = Object.values(used);
  return counts.some((count) => count < 0) || counts.every((count) => count === 0) ? undefined : used;
}
