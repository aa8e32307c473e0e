import type { Transport } from "../../../protocol/index.ts";
import type { FailureDraft } from "../../executors/contract/failures.ts";
import { SweepError, sweepTree, stopTree, isCliRunning, type ProcessTree } from "../../process/keeper/tree.ts";
import { findToolProcess } from "../../process/keeper/tool-process.ts";
import type { ProcessEntry } from "../../process/keeper/process-table.ts";
import { readExit, type StartedProcess } from "../../process/keeper/keeper.ts";
import { waitForExit, type KeptExit } from "../../process/keeper/wait-exit.ts";
import type { StopOrder, TurnAsks, TurnProcess } from "../lifecycle/inputs.ts";
import type { TurnLimits } from "../lifecycle/limits.ts";
import type { TurnObserver } from "../lifecycle/observer.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { markOf, type GroupParts } from "./turn-group.ts";

/** What prints a turn's output: a process of its own, or a server that does this turn now. */
export interface TurnBody {
  readonly transport: Transport;
  /** Whether it runs: the clocks of a turn are for what does. */
  isRunning(): boolean;
  /** A process that it started since, and that does a tool's work. */
  findTool(sinceMs: number): ProcessEntry | undefined;
  /** Resolves when nothing of the turn is printed any more; with its exit, where a process has ended and it is known. */
  untilEnded(signal: AbortSignal): Promise<KeptExit | null>;
  /** Has it end. Once at most. @throws {SweepError} */
  stop(order: StopOrder): Promise<void>;
  /** Ends what is left of the turn. @param stopping - waited for first @throws {SweepError} */
  sweep(stopping: Promise<void> | undefined): Promise<void>;
  /** An exit that was written while what is left was ended. */
  lateExit(): Promise<KeptExit | null>;
  /** What of turnd's own has ended it. */
  fault?(): FailureDraft | undefined;
  /** What people are asked, where they can be. */
  readonly asks?: TurnAsks;
  /** Takes in what a later turn says, where that can be. */
  readonly takeInput?: TurnProcess["takeInput"];
}

export interface BodyParts extends GroupParts {
  readonly limits: Pick<TurnLimits, "cancelGraceMs" | "shutdownMs">;
  readonly observer: Pick<TurnObserver, "processesSwept">;
  /** Aborts when turnd stops and its time for that is half over: what has a grace left is killed. */
  readonly graceOver: AbortSignal;
}

/** A process of the turn's own, under a keeper. */
export function createKeptBody(
  parts: BodyParts,
  turn: Turn,
  {
    started,
    stopSignals,
  }: { readonly started: StartedProcess; readonly stopSignals: readonly ("SIGINT" | "SIGTERM")[] },
): TurnBody {
  const tree: ProcessTree = { started, ...markOf(turn.file.turn_id, parts.groups.groups) };
  return {
    transport: "headless",
    isRunning: () => isCliRunning(started),
    findTool: (sinceMs) => findToolProcess(started, sinceMs),
    untilEnded: (signal) => waitForExit(turn.directory, started, signal),
    async stop(order) {
      await order.saved;
      const grace = { signals: stopSignals, graceMs: graceOf(order, parts.limits), over: parts.graceOver };
      const ended = await stopTree(tree, grace);
      parts.observer.processesSwept(ended.filter(({ pid }) => pid !== started.pid).length);
      await turn.send({ type: "processes_swept", processes: ended });
    },
    async sweep(stopping) {
      await stopping;
      parts.observer.processesSwept((await sweepTree(tree)).length);
    },
    // A sweep waits for the keeper, which may have come to write it meanwhile.
    lateExit: async () => (await readExit(turn.directory)) ?? null,
  };
}

/** How long what is stopped has to end by itself. */
export function graceOf({ reason, isAtOnce }: StopOrder, { cancelGraceMs, shutdownMs }: BodyParts["limits"]): number {
  if (isAtOnce) return 0;
  // Half of the bound is for what comes after: sweeping, and logging the end.
  return reason === "shutdown" ? Math.min(cancelGraceMs, shutdownMs / 2) : cancelGraceMs;
}

/** A sweep that fails is reported, not thrown: the turn ends all the same. Law: one end. */
export async function sweepOrReport(
  body: TurnBody,
  stopping: Promise<void> | undefined,
): Promise<SweepError | undefined> {
  try {
    await body.sweep(stopping);
    return undefined;
  } catch (error) {
    if (error instanceof SweepError) return error;
    throw error;
  }
}
