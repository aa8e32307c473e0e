import { z } from "zod";
import type { Mode, Permissions } from "../../../../protocol/index.ts";
import { CliAConfig } from "./details.ts";
import { listDenied } from "./permissions.ts";

/**
 * What the CLI would do unasked, switched off unless the operator's whole configuration decides.
 *
 * `snapshot` copies the workspace into the session's home, with some fifty git processes a turn, for an undo that no run can ask
 * for. `formatter` and `lsp` are on by default in 1.3.2 and start programs of the repository, such as
 * `node_modules/.bin/prettier`, whatever a session is denied (all measured on 1.3.2 and 1.14.34).
 */
export const QUIET = { share: "disabled", autoupdate: false, snapshot: false, formatter: false, lsp: false } as const;

/** They start programs, so a session that may start none does without, whatever the configuration says. */
const PROGRAMS = { formatter: QUIET.formatter, lsp: QUIET.lsp } as const;

/**
 * Keeps the CLI from sending a request over a connection that has carried one. Where a provider cuts such a connection in the
 * middle of an answer, the CLI's runtime asks again behind its back, and the text is printed twice (oven-sh/bun#28706;
 * measured on 1.3.2 and 1.14.34). Remove when both pins are built with a runtime that does not.
 */
export const NEW_CONNECTION = { Connection: "close" } as const;

/**
 * A configuration of which a turn does nothing unasked.
 *
 * @param requested - the request's model with its provider; absent for the configured one
 */
export function quietConfig(
  config: CliAConfig,
  turn: { readonly permissions: Permissions; readonly mode: Mode; readonly requested?: string },
): CliAConfig {
  const canRun = !listDenied(turn.permissions, turn.mode).includes("bash");
  return { ...QUIET, ...withNewConnections(config, turn.requested), ...(canRun ? {} : PROGRAMS) };
}

const Text = z.string().optional().catch(undefined);
const Agents = z.record(z.string(), z.object({ model: Text }).catch({ model: undefined })).catch({});
const Models = z.object({
  model: Text,
  small_model: Text,
  agent: Agents.default({}),
  mode: Agents.default({}),
});

/** Every provider that a turn could ask gets the header, one of the CLI's own catalogue too; a header of the operator's stays. */
function withNewConnections(config: CliAConfig, requested: string | undefined): CliAConfig {
  const provider = CliAConfig.safeParse(config["provider"] ?? {}).data;
  // What is no provider is left for the CLI to refuse.
  if (provider === undefined) return config;
  const { model, small_model, agent, mode } = Models.parse(config);
  const agents = [agent, mode].flatMap((group) => Object.values(group).map((one) => one.model));
  const asked = [requested, model, small_model, ...agents].flatMap((full) => /^([^/]+)\//.exec(full ?? "")?.[1] ?? []);
  const ids = [...new Set([...Object.keys(provider), ...asked])];
  return { ...config, provider: Object.fromEntries(ids.map((id) => [id, withNewConnection(provider[id] ?? {})])) };
}

const Provider = z.looseObject({ options: z.looseObject({ headers: CliAConfig.default({}) }).prefault({}) });

function withNewConnection(given: unknown): unknown {
  const provider = Provider.safeParse(given).data;
  if (provider === undefined) return given;
  const { options } = provider;
  const isDecided = Object.keys(options.headers).some((name) => name.toLowerCase() === "connection");
  if (isDecided) return given;
  return { ...provider, options: { ...options, headers: { ...options.headers, ...NEW_CONNECTION } } };
}
