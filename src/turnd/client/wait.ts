import { TurnStatusAtEnd, type Tolerant, type TurnResult, type TurnSnapshot } from "../protocol/index.ts";
import { followTurn, type FollowOptions } from "./follow.ts";
import type { Endpoint } from "./exchange.ts";

/** Options of a wait for a turn's end. */
export type WaitOptions = Pick<FollowOptions, "lostAfterMs" | "silentAfterMs" | "signal">;

/** Calls that a wait makes besides following the events. */
export interface WaitCalls {
  readonly turn: (signal: AbortSignal | undefined) => Promise<Tolerant<TurnSnapshot>>;
  readonly result: (signal: AbortSignal | undefined) => Promise<Tolerant<TurnResult>>;
}

const ENDED: ReadonlySet<string> = new Set(TurnStatusAtEnd.options);

/** Follows a turn's further events (slim), then asks for its result. */
export async function waitForResult(
  endpoint: Endpoint,
  turnId: string,
  options: WaitOptions,
  calls: WaitCalls,
): Promise<Tolerant<TurnResult>> {
  const { signal } = options;
  const { status, last_seq: after } = await calls.turn(signal);
  // A status that a newer turnd has added may be of a turn that goes on; the stream of an ended one just ends.
  if (!ENDED.has(status)) {
    const rest = followTurn(endpoint, turnId, { ...options, after, isSlim: true });
    // Only its end matters.
    for await (const { type } of rest) if (type === "turn.ended") break;
  }
  return calls.result(signal);
}
