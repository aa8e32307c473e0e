import type { ProbePlan } from "../contract/probe-plan.ts";

/** How CLI A is probed. It asks a provider that refuses again for ever: the first `retry` shows all there is to see. */
export const PROBE: ProbePlan = {
  provider: (modelUrl) => ({
    CLI_A_PROVIDER: "scripted",
    CLI_A_MODEL: "scripted",
    CLI_A_BASE_URL: modelUrl,
    CLI_A_API_KEY: "no-key-needed",
  }),
  variables: {},
  loadBaseline: async () => (await import("./probe-baseline.json", { with: { type: "json" } })).default,
  plays: () => true,
  cancelAt: { "rate-limit": "retry", quota: "retry", "server-error": "retry", cancel: "step.started" },
};
