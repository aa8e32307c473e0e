import type { CodeGuard } from "../../contract/code-guard.ts";
import type { CliAConfig } from "./details.ts";
import { GUARD } from "./own-code-guard.ts";

/** Names what Bun, the CLI's runtime, runs before the CLI: a path, or a `data:` URL in base64. Bun ends with 1 where it cannot. */
const PRELOAD = "BUN_INSPECT_PRELOAD";
/** Asks the guard to print {@link PROOF}. */
const WANTS_PROOF = "TURND_GUARD_PROOF";
const PROOF = "turnd: this CLI loads no code but its own";

/** The newest version that needs no guard: its own switches were measured to keep a repository's plugins out. */
const NEEDS_NONE = [1, 14, 34] as const;

interface Guarded {
  /** As the turn gets it; undefined: none. */
  readonly config: CliAConfig | undefined;
  /** Absolute paths that must be readable, and hold JSON. */
  readonly configFiles: readonly string[];
}

/** The environment that makes the CLI load no code but its own. */
export function guardEnv({ config, configFiles }: Guarded): Record<string, string> {
  const settings = { PRELOAD, WANTS_PROOF, PROOF, loadsPlugins: loadsPlugins(config ?? {}), configFiles };
  const source = GUARD.replace("SETTINGS", () => JSON.stringify(settings));
  return { [PRELOAD]: `data:text/javascript;base64,${Buffer.from(source).toString("base64")}` };
}

/** Shows that a binary runs the guard. */
export const CODE_GUARD: CodeGuard = {
  env: { ...guardEnv({ config: undefined, configFiles: [] }), [WANTS_PROOF]: "1" },
  isProven: (stderr) => stderr.split("\n").includes(PROOF),
  isNeeded(version) {
    const parts = version.split(/[^\d]+/, 3).map(Number);
    const at = NEEDS_NONE.findIndex((known, index) => (parts[index] ?? 0) !== known);
    return at !== -1 && (parts[at] ?? 0) > (NEEDS_NONE[at] ?? 0);
  },
};

function loadsPlugins(config: CliAConfig): boolean {
  return ["plugin", "plugins"].some((key) => Array.isArray(config[key]) && config[key].length > 0);
}
