import type { CodeGuard } from "../../contract/code-guard.ts";
import type { CliAConfig } from "./details.ts";
import { GUARD } from "./own-code-guard.ts";
import { OWN_SECRETS } from "./own-secrets.ts";

/** Names what Bun, the CLI's runtime, runs before the CLI: a path, or a `data:` URL in base64. Bun ends with 1 where it cannot. */
const PRELOAD = "BUN_INSPECT_PRELOAD";
/** Holds the guard's source: Bun 1.3.14 takes a `data:` URL of some 6,000 characters at most. */
const SOURCE = "TURND_GUARD";
const START = `
const { env } = require("node:process");
const source = env.${SOURCE};
delete env.${SOURCE};
if (source === undefined) throw new Error("turnd: this CLI cannot be kept from loading files: it was not told how");
await new (async () => {}).constructor("require", source)(require);
`;
/** Asks the guard to print {@link PROOF}. */
const WANTS_PROOF = "TURND_GUARD_PROOF";
const PROOF = "turnd: this CLI loads no code but its own";

interface Guarded {
  /** As the turn gets it; undefined: none. */
  readonly config: CliAConfig | undefined;
  /** Absolute paths that must be readable, and hold JSON. */
  readonly configFiles: readonly string[];
  /** Where the CLI keeps its store, and the name that it calls itself by. */
  readonly stores: readonly { readonly data: string; readonly name: string }[];
  /** Of a server, which is given its keys over stdin. */
  readonly hasSecrets?: boolean;
}

/** The environment that makes the CLI load no code but its own. */
export function guardEnv({ config, configFiles, stores, hasSecrets = false }: Guarded): Record<string, string> {
  const settings = { PRELOAD, WANTS_PROOF, PROOF, loadsPlugins: loadsPlugins(config ?? {}), configFiles, stores };
  const guard = GUARD.replace("SETTINGS", () => JSON.stringify(settings));
  return preloadEnv(hasSecrets ? `${OWN_SECRETS}${guard}` : guard);
}

/** The environment of a server that loads whatever it finds: it takes its keys from stdin, and no more. */
export function secretsEnv(): Record<string, string> {
  return preloadEnv(`delete require("node:process").env.${PRELOAD};${OWN_SECRETS}`);
}

function preloadEnv(source: string): Record<string, string> {
  return { [PRELOAD]: `data:text/javascript;base64,${Buffer.from(START).toString("base64")}`, [SOURCE]: source };
}

/** Shows that a binary runs the guard. */
export const CODE_GUARD: CodeGuard = {
  env: { ...guardEnv({ config: undefined, configFiles: [], stores: [] }), [WANTS_PROOF]: "1" },
  isProven: (stderr) => stderr.split("\n").includes(PROOF),
};

function loadsPlugins(config: CliAConfig): boolean {
  return ["plugin", "plugins"].some((key) => Array.isArray(config[key]) && config[key].length > 0);
}
