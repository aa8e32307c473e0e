import { z } from "zod";
import type { Mode, Permissions } from "../../../../protocol/index.ts";
import type { Configuration } from "../../contract/configuration.ts";

/** The three levels of CLI B's own sandbox. Source: docs/contracts/cli-b.md §1. */
export const SandboxMode = z.enum(["read-only", "workspace-write", "danger-full-access"]);
export type SandboxMode = z.infer<typeof SandboxMode>;

/** CLI B's variables: empty ones count as not set, as entry scripts export them. Source: docs/reference.md. */
export interface CliBVariables {
  readonly apiKey: string | undefined;
  readonly envKey: string | undefined;
  readonly model: string | undefined;
  readonly baseUrl: string | undefined;
  readonly toml: string | undefined;
  readonly sandboxMode: string | undefined;
}

/** The values a configuration is rendered from. */
export const RenderedSettings = z.strictObject({ model: z.string(), baseUrl: z.string(), envKey: z.string() });
export type RenderedSettings = z.infer<typeof RenderedSettings>;

const sandboxMode = SandboxMode;
const Override = z.strictObject({
  path: z.string(),
  value: z.union([z.boolean(), z.string(), z.array(z.string()).readonly()]),
  isOptional: z.literal(true).optional(),
  successor: z.string().optional(),
  about: z.string().optional(),
});

/** What `configure` notes for `planHome` and `buildArgs`. */
export const CliBDetails = z.discriminatedUnion("source", [
  z.strictObject({ source: z.literal("none"), sandboxMode }),
  z.strictObject({ source: z.literal("variables"), sandboxMode, settings: RenderedSettings }),
  z.strictObject({
    source: z.literal("toml"),
    sandboxMode,
    toml: z.string(),
    /** What wins over the file, where the version takes it. */
    overrides: z.array(Override),
  }),
]);
export type CliBDetails = z.infer<typeof CliBDetails>;

/** What the real binary was built as: it reads `CODEX_HOME`, whatever it is called. */
export const BUILT_AS = "codex";

/** Where the configuration is below a home. */
export function configPath(cliName: string): string {
  return `.${cliName}/config.toml`;
}

/** Reads the notes back. */
export function readDetails(configuration: Configuration): CliBDetails {
  return CliBDetails.parse(configuration.details);
}

/**
 * The sandbox of a turn: the configured one of an execution turn, tightened by the session.
 *
 * Without the sandbox neither writing nor the network can be taken away, so a session that forbids one of them gets it
 * even where the operator wants none.
 */
export function chooseSandboxMode(configured: SandboxMode, mode: Mode, permissions: Permissions): SandboxMode {
  if (mode !== "execute" || permissions.edit === "deny") return "read-only";
  if (permissions.network === "deny" && configured === "danger-full-access") return "workspace-write";
  return configured;
}
