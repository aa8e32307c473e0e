import type { CliFeatures } from "../contract/cli-features.ts";
import type { Invocation } from "../contract/invocation.ts";
import { type CliBDetails, chooseSandboxMode, readDetails } from "./config/details.ts";
import { toPair } from "./config/given-toml.ts";
import { homeOverrides } from "./config/own-home.ts";
import { fitSettings } from "./config/features.ts";
import { tomlString } from "./config/toml.ts";
import { permissionPairs } from "./config/permission-pairs.ts";
import { ALWAYS } from "./config/unasked.ts";

/**
 * The arguments of one turn; the prompt is read from stdin (`-`).
 *
 * Options stand before `resume` and `review`, which do not take them all. A review in a session that has a thread goes
 * on in it as a read-only turn: the CLI cannot review in a thread that exists.
 * @see docs/contracts/cli-b.md §1, §3, §4, §13
 */
export function buildArgs(invocation: Invocation): string[] {
  const { mode, workspace, model, effort, images, outputSchema, permissions } = invocation;
  const details = readDetails(invocation.configuration);
  return [
    "exec",
    "--json",
    "--skip-git-repo-check",
    "--color",
    "never",
    "-s",
    chooseSandboxMode(details.sandboxMode, mode, permissions),
    "-C",
    workspace,
    ...(model === undefined ? [] : ["-m", model]),
    // The CLI trusts a workspace it may write to by itself, and a trusted repository's .codex/config.toml starts MCP
    // servers outside the sandbox and changes the model (measured). An untrusted one is not read.
    ...override(`projects={${tomlString(workspace)}={trust_level="untrusted"}}`),
    ...configArgs(details, invocation.cliFeatures),
    ...(invocation.userHome === undefined ? [] : homeOverrides(details, invocation.userHome).flatMap(override)),
    ...permissionPairs(permissions).flatMap(override),
    // Whatever lies in a home or a history: a plugin's programs run outside the sandbox.
    ...(mode === "execute" && permissions.execute !== "deny" ? [] : override("features.plugins=false")),
    ...(effort === undefined ? [] : override(`model_reasoning_effort=${tomlString(effort)}`)),
    ...(outputSchema === undefined ? [] : ["--output-schema", outputSchema]),
    // Written with "=": the short form takes every word after it, `resume` too, as another image.
    ...images.map((path) => `--image=${path}`),
    ...subcommand(invocation),
    "-",
  ];
}

function subcommand({ mode, resume }: Invocation): string[] {
  if (resume !== undefined) return ["resume", resume];
  return mode === "review" ? ["review"] : [];
}

function configArgs(details: CliBDetails, features: CliFeatures | undefined): string[] {
  switch (details.source) {
    case "none":
      return [];
    case "variables":
      // What we render is known to this version; a key that it no longer had would be a safety setting lost unnoticed.
      return ["--strict-config", ...ALWAYS.map(toPair).flatMap(override)];
    case "toml":
      return fitSettings(details.overrides, features).map(toPair).flatMap(override);
  }
}

function override(pair: string): string[] {
  return ["-c", pair];
}
