import { z } from "zod";
import type { CliAConfig } from "./details.ts";

const Paths = z.array(z.unknown());

/** In the CLI's directory of configuration. */
export const INSTRUCTIONS = "session-instructions.md";

/** Where a session's instructions are, relative to its home. */
export function instructionsPath(cliName: string): string {
  return `config/${cliName}/${INSTRUCTIONS}`;
}

/**
 * Adds the file of a session's instructions to those that the configuration names: the CLI reads each of them before every
 * request (measured on 1.14.34). What is no list the CLI refuses.
 */
export function addInstructions(config: CliAConfig, path: string): CliAConfig {
  const own = Paths.safeParse(config["instructions"] ?? []);
  return own.success ? { ...config, instructions: [...own.data, path] } : config;
}
