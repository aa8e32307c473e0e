import type { Logger } from "pino";
import type { Metrics } from "../http/metrics.ts";
import type { AttemptOptions } from "../runs/work/attempt-context.ts";
import type { KnowledgeWiring } from "./knowledge-wiring.ts";
import type { ThreadDeletionOptions } from "../runs/control/delete-thread.ts";
import type { Sandboxes } from "../sandboxes/sandboxes.ts";
import type { Secrets } from "./secrets.ts";
import type { Settings } from "../settings/settings.ts";
import type { Storage } from "../storage/storage.ts";
/** What a process does: answer calls, work on runs, or both. */
export type ProcessRole = "serve" | "api" | "worker";

export interface ServiceOptions {
  readonly settings: Settings;
  readonly role: ProcessRole;
  readonly logger: Logger;
  readonly version: string;
  /** Makes the sandboxes of the chosen kind; the caller has programs and environments. */
  readonly createSandboxes: (means: { storage: Storage; secrets: Secrets }) => Promise<Sandboxes>;
  /** Those of the process, where it has some already. */
  readonly metrics?: Metrics;
  /** PGlite has ended by itself: the process has to end, too. */
  readonly onDatabaseEnded?: ((error: Error) => void) | undefined;
  readonly onStep?: AttemptOptions["onStep"];
  readonly onDeletionStep?: ThreadDeletionOptions["onStep"];
  readonly onKnowledgeStep?: KnowledgeWiring["onStep"];
}
