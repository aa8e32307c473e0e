import type { ProbePlan } from "../contract/probe-plan.ts";

/** How CLI B is probed. */
export const PROBE: ProbePlan = {
  provider: (modelUrl) => ({
    CLI_B_MODEL: "scripted",
    CLI_B_BASE_URL: modelUrl,
    CLI_B_API_KEY: "no-key-needed",
  }),
  // What the model asks for is harmless, and not every machine allows the CLI's own sandbox.
  variables: { CLI_B_SANDBOX_MODE: "danger-full-access" },
  loadBaseline: async () => (await import("./probe-baseline.json", { with: { type: "json" } })).default,
  // It plans in that sandbox; a stream without a finish reason is nothing that its API has.
  plays: (scenario) => scenario !== "plan" && scenario !== "no-finish",
  cancelAt: { cancel: "tool.started" },
};
