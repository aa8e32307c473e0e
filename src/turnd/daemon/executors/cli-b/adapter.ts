import { namesOf } from "../contract/binary-names.ts";
import type { Executor, NativeBinary } from "../contract/executor.ts";
import { APP_SERVER } from "./app-server/server.ts";
import { createAppServerTranslator } from "./app-server/translate.ts";
import { buildArgs } from "./command.ts";
import { checkConfiguration } from "./config/configuration-check.ts";
import { configure, VARIABLES } from "./config/variables.ts";
import { BUILT_AS, chooseSandboxMode, readDetails } from "./config/details.ts";
import { FEATURE_QUESTION } from "./config/features.ts";
import { FAILURE_RULES } from "./failures/failure.ts";
import { planHome } from "./config/home.ts";
import { RECORDS, SHAPE_SOURCE } from "./known-records.ts";
import { providerRequest } from "./config/provider-request.ts";
import { explainSandboxCheck } from "./records/sandbox-fault.ts";
import { recogniseRecord } from "./records/recognise.ts";
import { createCliBTranslator } from "./translate/translate.ts";
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

const SESSION_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Directories of the platform packages; a global install nests them below the wrapper's package. */
const PACKAGES = ["@openai/codex-", "@openai/codex/node_modules/@openai/codex-", "codex-"] as const;
const PLATFORMS = [
  { name: "linux-x64", triple: "x86_64-unknown-linux-musl" },
  { name: "linux-arm64", triple: "aarch64-unknown-linux-musl" },
] as const;

/** CLI B, driven through `exec --json`. */
export const cliB: Executor = {
  id: "cli-b",
  label: "CLI B",
  defaultName: "cli-b",
  builtAs: BUILT_AS,
  variablePrefix: "CLI_B",
  contractVersion: "0.139.0",
  measuredVersions: ["0.139.0", "0.171.0"],
  capabilities: {
    modes: ["execute", "plan", "review"],
    images: true,
    output_schema: true,
    agents: false,
    effort: true,
    resume: true,
    permissions: true,
    mcp_servers: true,
    instructions: true,
    approvals: true,
  },
  variables: VARIABLES,
  // SIGINT ends it in 50 to 160 ms whatever it does; SIGTERM leaves more behind. Source: docs/contracts/cli-b.md §9.
  stopSignals: ["SIGINT", "SIGTERM"],
  nativeBinaries: () =>
    PACKAGES.flatMap((directory) =>
      PLATFORMS.map(({ name, triple }): NativeBinary => ({ path: `${directory}${name}/vendor/${triple}/bin/codex` })),
    ),
  configure,
  featureQuestion: FEATURE_QUESTION,
  interactive: APP_SERVER,
  planHome,
  buildArgs,
  // Anything else is taken for a thread's name and silently starts a new thread. Source: docs/contracts/cli-b.md §4.
  isNativeSessionId: (id) => SESSION_ID.test(id),
  failureRules: FAILURE_RULES,
  probe: PROBE,
  records: RECORDS,
  recogniseRecord,
  shapeSource: SHAPE_SOURCE,
  createTranslator: (input) =>
    input.transport === "interactive" ? createAppServerTranslator(input) : createCliBTranslator(input),
  checkConfiguration,
  strayConfiguration: (cliName) => namesOf(cliName, BUILT_AS).map((name) => `/etc/${name}`),
  providerRequest,
  // An index of threads with absolute paths: in a home that was moved 0.169.0 finds no thread by it, and without it all.
  stateOfPlace: (cliName) => ["", "-wal", "-shm"].map((end) => `${cliName}/state_5.sqlite${end}`),
  sandboxCheck: {
    // Read-only, since the writable sandbox also fails in a directory its user cannot write to (measured).
    args: ["sandbox", "-c", 'sandbox_mode="read-only"', "--", "/bin/true"],
    isNeeded: (configuration, mode, permissions = {}) =>
      chooseSandboxMode(readDetails(configuration).sandboxMode, mode, permissions) !== "danger-full-access",
    readFault: explainSandboxCheck,
    switchOff: "set CLI_B_SANDBOX_MODE=danger-full-access where the container is the boundary",
  },
};
