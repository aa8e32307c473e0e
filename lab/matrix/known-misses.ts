import type { Compared } from "./compare.ts";

/**
 * What turnd reads otherwise than the table of answers says, of the version that the image takes: mostly causes that the CLI
 * keeps to itself. A new version that does no worse breaks nothing; one that does better needs no change here.
 */
export const KNOWN_MISSES: Readonly<Record<"cli-a" | "cli-b", Readonly<Record<string, string>>>> = {
  "cli-a": {
    "mistral-no-model": "invalid_request",
    "xai-spending-limit": "rate_limited",
    "moonshot-rate": "provider_error",
    "litellm-cooldown": "model_not_found",
    "lmstudio-context": "invalid_request",
    "openrouter-upstream-rate": "provider_error",
    "openrouter-upstream-context": "provider_error",
    "tgi-inputs": "provider_error",
    "litellm-upstream": "network_error",
    "workers-neurons": "rate_limited",
    "workers-model": "invalid_request",
    "trap-parameter": "rate_limited",
    "trap-quota-service": "quota_exceeded",
    "took-too-long": "provider_error",
    "plan-limit": "provider_error",
  },
  "cli-b": {},
};

/** What is to be said of a recording. */
export interface Judged {
  readonly line: string | undefined;
  readonly breaks: boolean;
}

/** Judges one: what is read otherwise breaks, unless the version that the image takes is read the same way. */
export function judge({ name, outcome, allowed }: Compared, known: Readonly<Record<string, string>>): Judged {
  if (allowed === undefined) return { line: `  ${name}: ${outcome}`, breaks: false };
  const wanted = allowed.join(" or ");
  if (allowed.includes(outcome)) {
    return {
      line: allowed[0] === outcome ? undefined : `  ${name}: ${outcome}, ${allowed[0]} before it`,
      breaks: false,
    };
  }
  if (known[name] === outcome) return { line: `  ${name}: ${outcome}, not ${wanted}, as before`, breaks: false };
  return { line: `! ${name}: ${outcome}, not ${wanted}`, breaks: true };
}
