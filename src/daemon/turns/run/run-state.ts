import type { FailureDraft } from "../../executors/contract/executor.ts";
import type { Started } from "../../process/keeper/keeper.ts";
import type { TurnContext } from "../context.ts";
import type { Turn } from "../lifecycle/turn.ts";
import type { AttemptResult } from "./attempt.ts";
import type { Emitter } from "./emitter.ts";
import { degradedEvent } from "./own-events.ts";

/** What a run needs to know of the turn's environment. */
export interface RunOptions {
  /** Directories of the session's earlier turns, oldest first. */
  readonly earlierTurns: () => readonly string[];
  /** Resolves when nothing of an earlier turn is being removed from the session's home any more. */
  readonly whenTidy: () => Promise<void>;
}

/** A turn of a CLI on its way from its place to its end. Where it stands, `turn.life` says. */
export interface Run {
  readonly context: TurnContext;
  readonly turn: Turn;
  readonly options: RunOptions;
  readonly emitter: Emitter;
  readonly logPath: string;
  /** Whether there was room for the turn's last event. */
  readonly hasRoom: boolean;
  hasLoggedStarted: boolean;
  hasLoggedDegraded: boolean;
  /** The process to follow, and when it was started; no time for one that an earlier daemon had started. */
  found: { readonly started: Started; readonly spawnedAt?: number } | undefined;
  /** What became of the last process. */
  attempt: AttemptResult | undefined;
  /** Why no process ran. */
  refusal: FailureDraft | undefined;
}

/** First on the disk, then in the log: a daemon that is killed in between logs it at its next start. */
export async function logDegraded(run: Run): Promise<void> {
  const { degraded } = run.turn.file;
  if (degraded === undefined || run.hasLoggedDegraded) return;
  run.hasLoggedDegraded = true;
  await run.emitter.own([degradedEvent(degraded.requested, degraded.reason)]);
}
