import type { CliAConfig } from "./details.ts";

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
export function listUnknownKeys(config: CliAConfig): string[] {
  return Object.keys(config).filter((key) => !KNOWN.has(key));
}
