import type { FastifyReply } from "fastify";
import { ProblemError, type ProblemCode, type TurnAdmission, type TurnResult } from "../../../protocol/index.ts";
import type { TurnService } from "../../turns/turn-service.ts";

/** What a route needs that admits turns. */
export interface AdmissionOptions {
  readonly service: TurnService;
  /** Aborts when turnd is stopping; ends waits. */
  readonly closing: AbortSignal;
  /** @throws {ProblemError} shutting_down */
  readonly refuseWhenStopping: () => void;
}

export interface AnswerOptions {
  readonly reply: FastifyReply;
  /** How long to wait for the turn's end; undefined: not at all. */
  readonly waitMs: number | undefined;
}

/**
 * Answers an admission: 202, or 200 for a repeat. With a wait: 200 and the result; or 202 and the turn's present state,
 * when the turn outlasts the wait, turnd stops before, or the result of an ended turn cannot be read now. The turn is
 * admitted in any case, so no proxy may be led to send its request again.
 */
export async function answerAdmission(
  admitted: { readonly admission: TurnAdmission; readonly isRepeat: boolean },
  { service, closing }: AdmissionOptions,
  { reply, waitMs }: AnswerOptions,
): Promise<FastifyReply> {
  const { admission, isRepeat } = admitted;
  if (waitMs === undefined) return reply.code(isRepeat ? 200 : 202).send(admission);
  if (await waitForEnd(service, admission.turn_id, { waitMs, closing, reply })) {
    const result = await findResult(service, admission.turn_id);
    if (result !== undefined) return reply.code(200).send(result);
  }
  return reply.code(202).send(service.getTurn(admission.turn_id));
}

/** @returns undefined where it cannot be read now, which turnd logs; its own route gives the reason */
async function findResult(service: TurnService, turnId: string): Promise<TurnResult | undefined> {
  try {
    return await service.getResult(turnId);
  } catch (error) {
    if (error instanceof ProblemError && UNREADABLE.has(error.code)) return undefined;
    throw error;
  }
}

const UNREADABLE: ReadonlySet<string> = new Set<ProblemCode>(["storage_full", "resources_exhausted"]);

interface WaitOptions {
  readonly waitMs: number;
  readonly closing: AbortSignal;
  readonly reply: FastifyReply;
}

/** Waits until the turn has ended, the time is over, the client has disconnected or turnd is stopping. */
async function waitForEnd(service: TurnService, turnId: string, options: WaitOptions): Promise<boolean> {
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  const timer = setTimeout(stop, options.waitMs);
  options.closing.addEventListener("abort", stop);
  options.reply.raw.once("close", stop);
  try {
    if (options.closing.aborted || options.reply.raw.destroyed) stop();
    return await service.waitForEnd(turnId, controller.signal);
  } finally {
    clearTimeout(timer);
    options.closing.removeEventListener("abort", stop);
    options.reply.raw.off("close", stop);
  }
}
