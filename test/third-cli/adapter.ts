import type { Executor } from "../../src/turnd/daemon/executors/contract/executor.ts";
import { buildArgs, configure, CONFIGURATION_CHECK, planHome, VARIABLES } from "./config.ts";
import { FAILURE_RULES } from "./failures.ts";
import shapes from "./shapes.json" with { type: "json" };
import { createToyTranslator, ToyRecord } from "./translate.ts";

/** Toy, driven through `toy run`: the example of docs/adding-a-cli.md. */
export const toy: Executor = {
  id: "toy",
  label: "Toy",
  defaultName: "toy",
  builtAs: "toy",
  variablePrefix: "TOY",
  contractVersion: "1.0.0",
  measuredVersions: ["1.0.0", "1.0.0"],
  capabilities: {
    modes: ["execute"],
    images: false,
    output_schema: false,
    agents: false,
    effort: false,
    resume: true,
    permissions: false,
    mcp_servers: false,
    instructions: false,
    approvals: false,
  },
  variables: VARIABLES,
  stopSignals: ["SIGTERM"],
  nativeBinaries: () => [],
  configure,
  planHome,
  buildArgs,
  isNativeSessionId: (id) => /^toy-[0-9a-f]{8,}$/.test(id),
  failureRules: FAILURE_RULES,
  probe: {
    // Toy has no model: what it does depends on its prompt alone.
    provider: () => ({ TOY_VOICE: "plain", TOY_API_KEY: "no-key-needed" }),
    variables: {},
    loadBaseline: async () => (await import("./probe-baseline.json", { with: { type: "json" } })).default,
    plays: (scenario) => ["text", "resume", "bad-key", "cancel"].includes(scenario),
    cancelAt: { cancel: "session.bound" },
  },
  records: { known: shapes, typeField: "kind", unmappedTool: () => undefined },
  recogniseRecord: (record) => {
    const read = ToyRecord.safeParse(record);
    if (!read.success) return undefined;
    return read.data.kind === "hello" ? { session: read.data.session, beginsRun: true } : {};
  },
  shapeSource: { reads: ToyRecord, readsWithin: {}, documented: [], open: [] },
  createTranslator: createToyTranslator,
  checkConfiguration: () => CONFIGURATION_CHECK,
  strayConfiguration: () => [],
};
