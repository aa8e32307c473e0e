import type { z } from "zod";
import type { Transaction } from "../storage/transaction.ts";
import { TaskFailure } from "./failures.ts";

/** What a handler works with. */
export interface TaskContext<Payload, Checkpoint> {
  readonly taskId: string;
  /** Which attempt at the task this is: a later one has a larger number. */
  readonly attempt: number;
  readonly payload: Payload;
  /** The last one that was written, by this attempt or one before; undefined at the first start. */
  readonly checkpoint: Checkpoint | undefined;
  /** Aborts on cancel, timeout, shutdown, and when another attempt has taken over. */
  readonly signal: AbortSignal;
  /**
   * Writes how far the task is. Progress never goes back.
   *
   * @param percent - 0 to 100; fractions are cut off
   * @throws {TaskOwnershipLost}
   */
  progress(percent: number, message: string, checkpoint?: Checkpoint): Promise<void>;
  /**
   * Whether another user's task waits for this place. Asked between two steps of long work: the handler then throws
   * `TaskTurnOver`, and the task goes on from its checkpoint when it has a place again.
   */
  isTurnOver(): Promise<boolean>;
  /** A transaction that fails unless the task is still this attempt's. @throws {TaskOwnershipLost} */
  transaction<T>(fn: (trx: Transaction) => Promise<T>): Promise<T>;
}

export interface TaskDefinition<Payload, Result, Checkpoint> {
  readonly kind: string;
  readonly payload: z.ZodType<Payload>;
  readonly result: z.ZodType<Result>;
  readonly checkpoint: z.ZodType<Checkpoint>;
  /** Tasks of this kind at once in one process. */
  readonly concurrency: number;
  /** Of one attempt. */
  readonly timeoutMs: number;
  /** Must be resumable: it may run again from its last checkpoint at any point. */
  run(context: TaskContext<Payload, Checkpoint>): Promise<Result>;
}

/** A kind as attempts see it, whatever its types. */
export interface AnyTaskKind {
  readonly kind: string;
  readonly concurrency: number;
  readonly timeoutMs: number;
  /** Checks what the row holds and runs the handler. @returns the checked result */
  execute(context: TaskContext<unknown, unknown>): Promise<unknown>;
}

export interface TaskKind<Payload> extends AnyTaskKind {
  readonly payload: z.ZodType<Payload>;
}

/** Defines a kind of durable background work. */
export function defineTask<Payload, Result, Checkpoint>(
  definition: TaskDefinition<Payload, Result, Checkpoint>,
): TaskKind<Payload> {
  return {
    kind: definition.kind,
    concurrency: definition.concurrency,
    timeoutMs: definition.timeoutMs,
    payload: definition.payload,
    async execute(context) {
      const payload = definition.payload.safeParse(context.payload);
      const checkpoint = definition.checkpoint.optional().safeParse(context.checkpoint);
      if (!payload.success || !checkpoint.success) {
        throw new TaskFailure("payload_invalid", "the task was made by a version that wrote it in another way");
      }
      const result = await definition.run({
        taskId: context.taskId,
        attempt: context.attempt,
        payload: payload.data,
        checkpoint: checkpoint.data,
        signal: context.signal,
        isTurnOver: () => context.isTurnOver(),
        progress: (percent, message, next) => context.progress(percent, message, next),
        transaction: (fn) => context.transaction(fn),
      });
      return definition.result.parse(result);
    },
  };
}
