import { defined } from "../../../../kit/defined.ts";
import type { Ending } from "../../executors/contract/translator.ts";
import type { FailureDraft } from "../../executors/contract/failures.ts";
import { GroupError } from "../../process/cgroup/cgroup.ts";
import { ResourcesExhaustedError } from "../../process/exhausted.ts";
import { KeeperDiskError, KeeperError } from "../../process/keeper/keeper.ts";
import { exhaustedFailure, ownFailure } from "./own-failure.ts";
import type { TurnFacts } from "./conclude.ts";
import { MissingExecutorError } from "./missing-executor.ts";
import type { Counts } from "./event-counts.ts";
import { isStorageError } from "../../storage/storage-error.ts";
import { HomeError } from "../../process/user-files/change-home.ts";
import type { Turn } from "../lifecycle/turn.ts";
import type { TurnFile } from "../lifecycle/turn-file.ts";

/** What a process came to whose output was translated. */
export interface Ran {
  readonly ending: Ending;
  readonly counts: Counts;
}

/** What is known of a turn when nothing runs any more. */
export interface RunOutcome {
  readonly facts: TurnFacts;
  /** Absent when no process ran, or its recording has none. */
  readonly ran?: Ran;
}

/** The failure of a turn whose log would not take its events; undefined when it took them all. */
export function storageFault(fault: Error | undefined): TurnFacts["halt"] {
  return fault === undefined
    ? undefined
    : ownFailure("storage_error", `The turn's events could not be written: ${fault.message}`);
}

/**
 * What kept turnd from running a turn; a bug of its own is reported as what it is, and the turn ends all the same. Law:
 * one end.
 */
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

/** Writes into `turn.json` what turnd itself did: nothing else in the directory shows it to a replay of the turn. */
export async function saveOwnPart(turn: Turn, { halt, endedBy, taken }: TurnFacts): Promise<void> {
  const halted = halt?.on === "turnd" ? toHalted(halt) : undefined;
  await turn.send({ type: "concluded", endedBy, halted, taken });
}

function toHalted({ code, message, remedy }: NonNullable<TurnFacts["halt"]>): NonNullable<TurnFile["halted"]> {
  return { code, message, ...defined({ remedy }) };
}

/** The end of a turn whose process never ran. */
export function neverRan({ life, file }: Turn, failure: FailureDraft | undefined): RunOutcome {
  return {
    facts: {
      endedBy: life.stopReason ?? null,
      ...defined({ halt: failure }),
      exit: null,
      isDegraded: file.degraded !== undefined,
    },
  };
}
