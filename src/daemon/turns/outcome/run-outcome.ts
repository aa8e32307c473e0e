import type { FailureDraft } from "../../executors/contract/executor.ts";
import { GroupError } from "../../process/cgroup/cgroup.ts";
import { ResourcesExhaustedError } from "../../process/exhausted.ts";
import { KeeperDiskError, KeeperError } from "../../process/keeper/keeper.ts";
import type { AttemptResult } from "../run/attempt.ts";
import { exhaustedFailure, ownFailure } from "./acts.ts";
import type { TurnFacts } from "./classify.ts";
import { MissingExecutorError, type TurnContext } from "../context.ts";
import type { Emitter } from "../run/emitter.ts";
import { isStorageError } from "../../storage/storage-error.ts";
import { HomeError } from "../run/home.ts";
import type { Turn } from "../store/turn.ts";
import { writeTurnFile, type TurnFile } from "../store/turn-file.ts";

/** What is known of a turn when nothing runs any more. */
export interface RunOutcome {
  readonly facts: TurnFacts;
  /** Absent when no process ran, or its recording tells of none. */
  readonly attempt?: AttemptResult;
}

/** The failure of a turn whose log would not take its events; undefined when it took them all. */
export function storageFault(emitter: Emitter): TurnFacts["halt"] {
  const fault = emitter.fault();
  return fault === undefined
    ? undefined
    : ownFailure("storage_error", `The turn's events could not be written: ${fault.message}`);
}

/** What kept turnd from running a turn; a bug of its own is told as what it is, and the turn ends all the same (law 3). */
export function toFailureOfOurs(error: unknown): FailureDraft {
  if (error instanceof KeeperDiskError || error instanceof HomeError) return ownFailure("storage_error", error.message);
  if (isStorageError(error)) {
    return ownFailure("storage_error", `The turn's files cannot be read or written: ${error.message}`);
  }
  if (error instanceof ResourcesExhaustedError) return exhaustedFailure(error);
  if (error instanceof KeeperError || error instanceof GroupError || error instanceof MissingExecutorError) {
    return ownFailure("executor_unavailable", error.message);
  }
  return ownFailure("unknown", `turnd itself failed: ${error instanceof Error ? error.message : String(error)}`);
}

/** Writes into `turn.json` what turnd itself did: nothing else in the directory shows it to whoever replays the turn. */
export async function saveOwnPart(context: TurnContext, turn: Turn, { halt, endedBy }: TurnFacts): Promise<void> {
  const halted = halt?.on === "turnd" ? toHalted(halt) : undefined;
  const { file } = turn;
  if (halted === undefined && file.halted === undefined && endedBy === (file.ended_by ?? null)) return;
  turn.file = { ...file, ended_by: endedBy };
  if (halted === undefined) delete turn.file.halted;
  else turn.file.halted = halted;
  try {
    await writeTurnFile(turn.directory, turn.file);
  } catch (error) {
    // The turn's end says it too, and matters more (law 3).
    context.logger.warn({ turnId: file.turn_id, err: error }, "what turnd did could not be written");
  }
}

function toHalted({ code, message, remedy }: NonNullable<TurnFacts["halt"]>): NonNullable<TurnFile["halted"]> {
  return { code, message, ...(remedy === undefined ? {} : { remedy }) };
}
