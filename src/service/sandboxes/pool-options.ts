import type { Logger } from "pino";
import type { Storage } from "../storage/storage.ts";
import type { SandboxEngine } from "./sandbox-engine.ts";

export interface PoolOptions {
  readonly storage: Storage;
  readonly engine: SandboxEngine;
  readonly logger: Logger;
  /** Who shares a sandbox: nobody but its thread, or all threads of a user. */
  readonly scope: "thread" | "user";
  readonly sandboxSecret: string;
  /** Most sandboxes that run at once. */
  readonly max: number;
  /** Without a run for so long a sandbox is stopped. */
  readonly idleMs: number;
  /** Longest start. */
  readonly startMs: number;
  /** Volumes without a row are kept for so long. */
  readonly orphanVolumeMs?: number;
}
