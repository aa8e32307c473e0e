import type { FailureDraft } from "../../executors/contract/failures.ts";
import type { Started } from "../../process/keeper/keeper.ts";
import type { Starter } from "../../process/starter/starter.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import type { TurnObserver } from "../lifecycle/observer.ts";
import type { StateDiskParts } from "../executors/state-disk.ts";
import type { AttemptParts, AttemptResult } from "./attempt.ts";
import type { LostSessionParts } from "./lost-session.ts";
import { degradedEvent } from "./daemon-events.ts";
import type { PrepareParts } from "./prepare.ts";
import type { OpenTurn } from "./run.ts";

export interface CliParts extends AttemptParts, PrepareParts, LostSessionParts, Pick<StateDiskParts, "stateDirectory"> {
  readonly sessions: Pick<SessionStore, "get" | "paths" | "hasHome" | "ensureHome" | "update">;
  readonly observer: Pick<TurnObserver, "processesSwept" | "firstEvent">;
  readonly starter?: Pick<Starter, "ask" | "startHelper">;
}

/** What the run of a turn needs to know of the other turns of its session. */
export interface CliRunOptions {
  /** Directories of the session's earlier turns, oldest first. */
  readonly earlierTurns: () => readonly string[];
  /** Resolves when nothing of an earlier turn is being removed from the session's home any more. */
  readonly whenTidy: () => Promise<void>;
}

/** A turn of a CLI on its way from its place to its end. Where it stands, `turn.life` says. */
export interface CliRun extends OpenTurn {
  readonly parts: CliParts;
  readonly options: CliRunOptions;
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
export async function logDegraded(run: CliRun): Promise<void> {
  const { degraded } = run.turn.file;
  if (degraded === undefined || run.hasLoggedDegraded) return;
  run.hasLoggedDegraded = true;
  await run.emitter.emitDaemonEvents([degradedEvent(degraded.requested, degraded.reason)]);
}
