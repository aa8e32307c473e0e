import type { Configuration } from "../../contract/configuration.ts";
import { CliAConfig, readDetails } from "./details.ts";

/** Holds the provider's key inside the server: the guard takes it from stdin, and no tool has it. */
export const KEY_VARIABLE = "TURND_PROVIDER_KEY";

/** The provider's key; "" where the configuration is not made of turnd's variables. */
export function keyOf(configuration: Configuration): string {
  const details = readDetails(configuration);
  if (details.source !== "variables") return "";
  const key = optionsOf(details.config, details.provider)?.["apiKey"];
  return typeof key === "string" ? key : "";
}

/** A configuration that names the variable in place of the key. Law: keys travel aside. */
export function withoutKey(config: CliAConfig, provider: string | undefined): CliAConfig {
  const options = optionsOf(config, provider);
  if (provider === undefined || options === undefined) return config;
  const providers = CliAConfig.parse(config["provider"]);
  const own = CliAConfig.parse(providers[provider]);
  const named = { ...own, options: { ...options, apiKey: `{env:${KEY_VARIABLE}}` } };
  return { ...config, provider: { ...providers, [provider]: named } };
}

function optionsOf(config: CliAConfig, provider: string | undefined): CliAConfig | undefined {
  const read = (value: unknown): CliAConfig | undefined => CliAConfig.safeParse(value).data;
  return provider === undefined ? undefined : read(read(read(config["provider"])?.[provider])?.["options"]);
}
