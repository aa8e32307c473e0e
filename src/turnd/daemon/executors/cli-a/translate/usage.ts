import type { Usage } from "../../../../protocol/index.ts";
import type { CliATokens } from "../records/record.ts";

/**
 * One step's tokens in our words: input with cached and cache-written tokens, output with reasoning.
 *
 * 1.3.2 counts reasoning into `output`, 1.14.34 does not; the printed total shows which.
 * @returns undefined when the provider sent no usage, or numbers too large to be exact: unknown is not 0
 * @see docs/contracts/cli-a.md §1.2
 */
export function toUsage({ total, input, output, reasoning, cache }: CliATokens): Usage | undefined {
  const inputTokens = input + cache.read + cache.write;
  if (total === undefined && inputTokens + output + reasoning === 0) return undefined;
  const isReasoningIncluded = inputTokens + output === total;
  return ifExact({
    input_tokens: Math.round(inputTokens),
    cached_input_tokens: Math.round(cache.read),
    cache_write_tokens: Math.round(cache.write),
    output_tokens: Math.round(isReasoningIncluded ? output : output + reasoning),
    reasoning_tokens: Math.round(reasoning),
  });
}

/** Adds a step to the sum of those before it. */
export function addUsage(sum: Usage | undefined, step: Usage | undefined): Usage | undefined {
  if (sum === undefined || step === undefined) return sum ?? step;
  const total = {
    input_tokens: sum.input_tokens + step.input_tokens,
    cached_input_tokens: sum.cached_input_tokens + step.cached_input_tokens,
    cache_write_tokens: sum.cache_write_tokens + step.cache_write_tokens,
    output_tokens: sum.output_tokens + step.output_tokens,
    reasoning_tokens: sum.reasoning_tokens + step.reasoning_tokens,
  };
  return ifExact(total) ?? sum;
}

function ifExact(usage: Usage): Usage | undefined {
  return Object.values(usage).every((count) => Number.isSafeInteger(count)) ? usage : undefined;
}
