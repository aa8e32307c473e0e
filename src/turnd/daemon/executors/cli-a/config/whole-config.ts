import { z } from "zod";
import { defined } from "../../../../../kit/defined.ts";
import type { Configuration, ConfigureInput, ConfigureResult } from "../../contract/configuration.ts";
import { isBundled, notBundled } from "./bundled.ts";
import { CliAConfig, resolveModel, type CliADetails } from "./details.ts";
import { isOrdinary, secretsIn } from "../../secrets/secret-values.ts";
import { showConfig } from "./effective.ts";
import { readJsonc } from "./jsonc.ts";
import { listAsks } from "./permissions.ts";
import { quietConfig } from "./unasked.ts";

interface WholeInput {
  readonly json: string;
  /** The single variables that are set as well. */
  readonly single: readonly string[];
  readonly env: ConfigureInput["env"];
  readonly path: string;
}

const Provider = z.object({ env: z.array(z.string()).catch([]), npm: z.string().optional().catch(undefined) });
const Read = z.object({
  model: z.string().optional().catch(undefined),
  provider: z.record(z.string(), Provider.catch({ env: [] })).catch({}),
});
const REGION_OR_PROJECT = /^[a-z]+(?:-[a-z]+)*(?:-\d{1,2})?$/;
const ENV_REFERENCE = /\{env:([^}]+)\}/g;

/**
 * Takes a whole configuration as it is given.
 *
 * It is read only to check it, to know the variables it refers to, and to make it safe in a session's home.
 */
export function configureWhole({ json, single, env, path }: WholeInput): ConfigureResult {
  const read = readJsonc(json);
  if (!read.ok) return { ok: false, errors: [`CLI_A_JSON is not valid JSON or JSONC${read.where}`] };
  const parsed = CliAConfig.safeParse(read.value);
  if (!parsed.success) return { ok: false, errors: ["CLI_A_JSON must be a JSON object"] };
  const config = parsed.data;
  const { model, provider } = Read.parse(config);

  const referred = [...json.matchAll(ENV_REFERENCE)].flatMap(([, name]) => (name === undefined ? [] : [name]));
  const listed = Object.values(provider).flatMap((entry) => entry.env);
  const names = [...new Set([...referred, ...listed])];
  const passed = names.flatMap((name): [string, string][] => {
    const value = env[name];
    return value === undefined || value === "" ? [] : [[name, value]];
  });
  const shown = showConfig(config, () => "CLI_A_JSON");
  const given = new Set(shown.settings.map(({ key }) => key));
  const keys = [...shown.secretVariables, ...Object.values(provider).flatMap((entry) => keysAmong(entry.env, env))];
  const secretsOf = (name: string, value: string): string[] =>
    keys.includes(name) && !isOrdinary(value) ? [value] : secretsIn(name, value);
  const details: CliADetails = {
    source: "json",
    config,
    ...(model?.includes("/") ? { provider: model.slice(0, model.indexOf("/")) } : {}),
  };
  const fault = findPackageFault(details, undefined);
  return {
    ok: true,
    configuration: {
      isConfigured: true,
      files: [{ path, content: json }],
      env: Object.fromEntries(passed),
      warnings: [
        ...single
          .filter((name) => !names.includes(name))
          .map((name) => `${name} is ignored: CLI_A_JSON is set and wins`),
        ...referred.filter((name) => !env[name]).map((name) => `CLI_A_JSON refers to ${name}, which is not set`),
        ...listUnknownKeys(config).map(
          (key) => `CLI_A_JSON sets ${key}, which CLI A does not know: 1.18.33 ignores it`,
        ),
        ...listAsks(config).map((ask) => `CLI_A_JSON leaves ${ask} on "ask"; no one can answer, so it is denied`),
      ],
      effective: showConfig(quietConfig(config, { permissions: {}, mode: "execute" }), (key) =>
        given.has(key) ? "CLI_A_JSON" : "turnd",
      ).settings,
      secrets: [...new Set([...shown.secrets, ...passed.flatMap(([name, value]) => secretsOf(name, value))])],
      ...defined({ model, fault }),
      details,
    },
  };
}

/** The variables a provider takes its key from. Where it lists several, there may be a region or a project among them. */
function keysAmong(listed: readonly string[], env: ConfigureInput["env"]): readonly string[] {
  return listed.length === 1 ? listed : listed.filter((name) => !REGION_OR_PROJECT.test(env[name] ?? ""));
}

/**
 * Whether a turn would have its provider's package fetched from npm.
 *
 * @param requested - absent for the configured model; without that either the CLI takes any provider it can use
 */
export function findPackageFault(details: CliADetails, requested: string | undefined): Configuration["fault"] {
  if (details.source === "none") return undefined;
  const { model: configured, provider } = Read.parse(details.config);
  const model = requested === undefined ? configured : resolveModel(details, requested);
  const packages = Object.entries(provider)
    .filter(([id]) => model === undefined || id === model.split("/", 1)[0])
    // Without one the CLI takes the package it knows the provider by.
    .map(([, { npm }]) => (npm === undefined || isBundled(npm) ? undefined : npm));
  const [first] = packages;
  return first === undefined || packages.includes(undefined) ? undefined : notBundled("CLI_A_JSON", first);
}

/** The keys of a configuration that 1.3.2, 1.14.34 or 1.18.33 knows, read in the binaries' schemas. */
const KNOWN: ReadonlySet<string> = new Set(
  `
$schema agent attachment autoshare autoupdate command compaction default_agent disabled_providers enabled_providers enterprise experimental
formatter instructions layout logLevel lsp mcp mode model permission plugin provider reference
references server share shell skills small_model snapshot subagent_depth tool_output tools username watcher
`
    .trim()
    .split(/\s+/),
);

/**
 * Keys that no measured version knows.
 *
 * 1.14.34 refuses a configuration with one; 1.18.33 ignores it, so that a mistyped `permission` would limit nothing.
 */
function listUnknownKeys(config: CliAConfig): string[] {
  return Object.keys(config).filter((key) => !KNOWN.has(key));
}
