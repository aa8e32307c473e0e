import type { Logger } from "pino";
import type { Sandboxes, SandboxScope } from "../../sandboxes/sandboxes.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Controls } from "../control/controls.ts";
import type { FinishOptions } from "../state/finish.ts";
import type { Ownership } from "../state/rows.ts";
import type { RunObserver } from "../state/observer.ts";
import type { RetryOptions } from "./ask-turnd.ts";
import type { RunRow } from "../state/rows.ts";
import type { ToolServers, TurnSource } from "./turn-body.ts";

/** What all attempts of a process share. */
export interface AttemptOptions {
  readonly storage: Storage;
  readonly sandboxes: Sandboxes;
  readonly controls: Controls;
  readonly finishing: FinishOptions;
  readonly logger: Logger;
  /** Names this process in `run_attempt`. */
  readonly worker: string;
  readonly leaseMs: number;
  readonly executorLostMs: number;
  readonly toolServers: ToolServers;
  readonly observer?: RunObserver | undefined;
  /** Called at each step of an attempt; tests end the process there. */
  readonly onStep?: ((step: AttemptStep, runId: string) => void) | undefined;
}

export type AttemptStep = "claimed" | "sandbox" | "turn" | "following" | "ended";

/** One attempt at one run. */
export interface AttemptContext extends AttemptOptions {
  readonly run: RunRow;
  readonly owner: Ownership;
  readonly source: TurnSource;
  readonly scope: SandboxScope;
  /** The turn that the thread's session has had last, before this run. */
  readonly lastTurnId: string | null;
  readonly retry: RetryOptions;
  readonly traceparent: string | undefined;
  readonly signal: AbortSignal;
  isCancelRequested(): boolean;
  /** A cancel was asked for while there is no turn yet. */
  noteCancel(): void;
}
