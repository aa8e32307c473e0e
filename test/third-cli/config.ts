import { join } from "node:path";
import type {
  Configuration,
  ConfigurationCheck,
  ConfigureInput,
  ConfigureResult,
  Variable,
} from "../../src/turnd/daemon/executors/contract/configuration.ts";
import type { HomeInput, HomePlan, Invocation } from "../../src/turnd/daemon/executors/contract/invocation.ts";

/** The variables of Toy's configuration, for people. */
export const VARIABLES: readonly Variable[] = [
  { name: "TOY_VOICE", meaning: "how Toy speaks; needed with the key" },
  { name: "TOY_API_KEY", meaning: "the key that Toy asks for" },
];

/** Reads Toy's variables; an empty one is not set. */
export function configure({ env, cliName }: ConfigureInput): ConfigureResult {
  const voice = env["TOY_VOICE"] || undefined;
  const key = env["TOY_API_KEY"] || undefined;
  if (voice !== undefined && !/^\w+$/.test(voice)) return { ok: false, errors: ["TOY_VOICE must be one word"] };
  const content = `voice=${voice ?? ""}\n`;
  const configuration: Configuration = {
    isConfigured: voice !== undefined || key !== undefined,
    files: [{ path: `.${cliName}/toy.conf`, content }],
    env: key === undefined ? {} : { TOY_API_KEY: key },
    warnings: [],
    effective: [
      { key: "voice", value: voice ?? null, origin: voice === undefined ? "turnd" : "TOY_VOICE" },
      ...(key === undefined ? [] : [{ key: "api_key", value: "***", origin: "TOY_API_KEY" }]),
    ],
    secrets: key === undefined ? [] : [key],
    ...(key === undefined
      ? { fault: { code: "credential_missing", message: "Toy has no key; set TOY_API_KEY." } }
      : {}),
    details: { content },
  };
  return { ok: true, configuration };
}

/** A session's home: one directory, which holds the configuration and Toy's sessions. */
export function planHome({ home, cliName, configuration }: HomeInput): HomePlan {
  return {
    directories: [cliName],
    files: configuration.files.map(({ content }) => ({ path: `${cliName}/toy.conf`, content })),
    forbidden: [],
    env: { TOY_HOME: join(home, cliName) },
  };
}

export function buildArgs({ resume }: Invocation): string[] {
  return ["run", ...(resume === undefined ? [] : ["--resume", resume])];
}

/** `toy check` reads the configuration and nothing else. */
export const CONFIGURATION_CHECK: ConfigurationCheck = {
  args: ["check"],
  unacceptable: "turnd: no CLI reads this and goes on",
  judge: ({ code, stderr }) =>
    code === 0 ? undefined : { message: stderr.trim() || `exit code ${code ?? "none"}`, keepsFromRunning: true },
};
