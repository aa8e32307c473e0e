import { z } from "zod";
import type { Configuration } from "../../contract/configuration.ts";

/** What the real binary was built as: its directories and switches have this name, whatever it is called. */
export const BUILT_AS = "opencode";

/** A configuration of CLI A, as JSON. Its schema is the CLI's own; we read a few fields. */
export const CliAConfig = z.record(z.string(), z.unknown());
export type CliAConfig = z.infer<typeof CliAConfig>;

/** What `configure` notes for `planHome` and `buildArgs`. */
export const CliADetails = z.discriminatedUnion("source", [
  z.strictObject({ source: z.literal("none") }),
  z.strictObject({
    source: z.enum(["variables", "json"]),
    config: CliAConfig,
    /** The provider a model without one belongs to. */
    provider: z.string().optional(),
  }),
]);
export type CliADetails = z.infer<typeof CliADetails>;

/** Reads the notes back. */
export function readDetails(configuration: Configuration): CliADetails {
  return CliADetails.parse(configuration.details);
}

/** Models of the configuration, by provider. */
const Providers = z.record(
  z.string(),
  z.looseObject({ models: CliAConfig.optional().catch(undefined) }).catch({ models: undefined }),
);

/**
 * The model of a request as the CLI wants it, `<provider>/<model>`.
 *
 * Of the variables' configuration there is one provider, and a model's own name may have slashes; in a whole
 * configuration what stands before the first slash is taken for a provider when it is one.
 */
export function resolveModel(details: CliADetails, requested: string): string {
  if (details.source === "none" || details.provider === undefined) return requested;
  const [first = ""] = requested.split("/", 1);
  const isFull = requested.includes("/") && isProvider(details, first);
  return isFull ? requested : `${details.provider}/${requested}`;
}

/** What a model is given in the variables' configuration: it is the operator's word that it can do all this. */
export function describeModel(npm: unknown): CliAConfig {
  return {
    attachment: true,
    modalities: { input: ["text", "image"], output: ["text"] },
    // Without these `--variant` is ignored for a model that the CLI's catalogue does not know (measured).
    variants: npm === "@ai-sdk/anthropic" ? ANTHROPIC_EFFORTS : OPENAI_EFFORTS,
  };
}

/** Lists a model in a configuration, without which the CLI says "Model not found". */
export function addModel(config: CliAConfig, model: string): CliAConfig {
  const slash = model.indexOf("/");
  const id = model.slice(0, slash);
  const name = model.slice(slash + 1);
  const providers = Providers.safeParse(config["provider"] ?? {}).data;
  const provider = providers?.[id];
  if (slash < 0 || provider === undefined || Object.hasOwn(provider.models ?? {}, name)) return config;
  const models = { ...provider.models, [name]: describeModel(provider["npm"]) };
  return { ...config, provider: { ...providers, [id]: { ...provider, models } } };
}

const OPENAI_EFFORTS = Object.fromEntries(
  ["minimal", "low", "medium", "high"].map((effort) => [effort, { reasoningEffort: effort }]),
);
/** Thinking tokens by effort; the CLI's own catalogue has 16 000 for `high`. */
const ANTHROPIC_EFFORTS = Object.fromEntries(
  Object.entries({ low: 4_000, medium: 8_000, high: 16_000 }).map(([effort, budgetTokens]) => [
    effort,
    { thinking: { type: "enabled", budgetTokens } },
  ]),
);

function isProvider({ source, config, provider }: Exclude<CliADetails, { source: "none" }>, id: string): boolean {
  if (id === provider) return true;
  if (source === "variables") return false;
  const known = Providers.safeParse(config["provider"] ?? {}).data;
  // A provider of the CLI's own catalogue need not be in the configuration.
  return known === undefined || Object.keys(known).length === 0 || Object.hasOwn(known, id);
}
