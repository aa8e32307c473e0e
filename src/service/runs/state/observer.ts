import type { FailureType, RunStatus } from "../../protocol/runs.ts";
import type { RequestRow } from "./rows.ts";
import type { StoredUsage } from "./usage.ts";

/** Called with what happens to runs in this process, for its metrics. It must not throw. */
export interface RunObserver {
  /** A run has ended, and its end is committed. */
  runEnded(run: { status: RunStatus; error: FailureType | undefined; source: RequestRow["source"] }): void;
  /** A turn has used these; of a run that has ended, or of one whose turn went on after it. */
  tokensUsed(usage: StoredUsage): void;
  /** turnd has taken a run's turn. @param afterMs - since the run was dispatched */
  turnAdmitted(afterMs: number): void;
  /** An event of a turn was written. @param afterMs - since turnd wrote it */
  eventWritten(afterMs: number): void;
}
