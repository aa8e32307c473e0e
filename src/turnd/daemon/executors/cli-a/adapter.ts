import { namesOf } from "../contract/binary-names.ts";
import type { Executor, NativeBinary } from "../contract/executor.ts";
import { buildArgs } from "./command.ts";
import { configure, VARIABLES } from "./config/variables.ts";
import { BUILT_AS, readDetails } from "./config/details.ts";
import { FAILURE_RULES } from "./failures/failure.ts";
import { CONFIGURATION_CHECK } from "./config/configuration-check.ts";
import { planHome } from "./config/home.ts";
import { CODE_GUARD } from "./config/own-code.ts";
import { RECORDS, SHAPE_SOURCE } from "./known-records.ts";
import { recogniseRecord } from "./records/recognise.ts";
import { readTime } from "./records/record-time.ts";
import { CORRUPT_ON_RESUME } from "./failures/stderr-rules.ts";
import { SERVER } from "./server/server.ts";
import { createServerTranslator } from "./server/translate.ts";
import { createCliATranslator } from "./translate/translate.ts";
import { findPackageFault } from "./config/whole-config.ts";
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

const SESSION_ID = /^ses_[0-9A-Za-z]{26}$/;

const PLATFORMS: readonly { suffix: string; needs?: string }[] = [
  { suffix: "linux-x64", needs: "avx2" },
  { suffix: "linux-x64-baseline" },
  { suffix: "linux-arm64" },
];

/** CLI A, driven through `run --format json`. */
export const cliA: Executor = {
  id: "cli-a",
  label: "CLI A",
  defaultName: "cli-a",
  builtAs: BUILT_AS,
  variablePrefix: "CLI_A",
  contractVersion: "1.4.6",
  measuredVersions: ["1.3.2", "1.18.33"],
  capabilities: {
    modes: ["execute", "plan"],
    images: true,
    output_schema: false,
    agents: true,
    effort: true,
    resume: true,
    permissions: true,
    mcp_servers: true,
    instructions: true,
    approvals: true,
  },
  variables: VARIABLES,
  // It handles neither and ends by the first at once; the second serves where SIGINT is ignored.
  // Source: docs/contracts/cli-a.md §10.
  stopSignals: ["SIGINT", "SIGTERM"],
  nativeBinaries: (cliName) =>
    namesOf(cliName, BUILT_AS).flatMap((name) =>
      PLATFORMS.flatMap(({ suffix, ...needs }): NativeBinary[] =>
        // Beside the wrapper's package, or nested below it.
        ["", `${name}-ai/node_modules/`].map((parent) => ({
          path: `${parent}${name}-${suffix}/bin/${name}`,
          ...needs,
        })),
      ),
    ),
  configure,
  findFault(configuration, model) {
    const details = readDetails(configuration);
    return details.source === "json" ? findPackageFault(details, model) : configuration.fault;
  },
  codeGuard: CODE_GUARD,
  planHome,
  buildArgs,
  interactive: SERVER,
  // Anything else ends with exit code 0 and not a word. Source: docs/contracts/cli-a.md §3.
  isNativeSessionId: (id) => SESSION_ID.test(id),
  failureRules: FAILURE_RULES,
  probe: PROBE,
  records: RECORDS,
  recogniseRecord,
  shapeSource: SHAPE_SOURCE,
  createTranslator: (input) =>
    input.transport === "interactive" ? createServerTranslator(input) : createCliATranslator(input),
  readTime,
  checkConfiguration: () => CONFIGURATION_CHECK,
  strayConfiguration: (cliName) => namesOf(cliName, BUILT_AS).flatMap((name) => [`/etc/${name}`, `~/.${name}`]),
  // They belong together: what was written last may be only in the log beside the database.
  // Source: docs/contracts/cli-a.md §3.
  corruptState: (rule, cliName) =>
    rule === CORRUPT_ON_RESUME
      ? namesOf(cliName, BUILT_AS).flatMap((name) =>
          ["", "-wal", "-shm", "-journal"].map((end) => `data/${name}/${name}.db${end}`),
        )
      : [],
};
