import type { SandboxKind } from "../protocol/sandboxes.ts";
import type { TurndClient } from "../../turnd/client/turnd-client.ts";

/** A turnd that is ready. */
export interface Sandbox {
  readonly id: string;
  readonly generation: number;
  readonly client: TurndClient;
}

/** What a thread's session is made with. */
export interface SandboxScope {
  readonly threadPk: number;
  readonly sessionId: string;
  readonly userId: number;
  /** The sandbox its turns ran in so far. */
  readonly sandboxId: string | null;
}

/** Where turns run; the kinds differ only behind this. */
export interface Sandboxes {
  readonly kind: SandboxKind;
  /** Whether turns of several users run in one sandbox. */
  readonly isShared: boolean;
  /**
   * A ready sandbox for a thread; waits for its start.
   *
   * @param signal - ends the wait at once; a start that has begun goes on
   * @throws {SandboxUnavailable}
   * @throws the signal's reason
   */
  acquire(scope: SandboxScope, signal: AbortSignal): Promise<Sandbox>;
  /** The workspace of a new session, made by us; undefined: the sandbox's own. */
  prepareWorkspace(scope: SandboxScope): Promise<string | undefined>;
  /** Stops what is idle and removes what has no row; one process of the cluster does it every 30 s. */
  sweep(): Promise<void>;
  /**
   * Removes what a deleted thread left: its session, with the turns that are under way, and its workspace; the sandbox itself
   * where it was only that thread's. Safe to repeat; what is gone already is right.
   *
   * @throws when turnd does not answer: the caller tries again later
   */
  removeThread(scope: SandboxScope, signal: AbortSignal): Promise<void>;
  /** Whether a run could start now, for probes; the message is for operators. */
  look(): Promise<{ readonly ok: boolean; readonly message?: string }>;
  close(): Promise<void>;
}

/** No sandbox can be had now. */
export class SandboxUnavailable extends Error {
  readonly reason: "sandbox_start_failed" | "sandbox_limit" | "executor_unavailable" | "executor_unreachable";

  constructor(reason: SandboxUnavailable["reason"], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "SandboxUnavailable";
    this.reason = reason;
  }
}
