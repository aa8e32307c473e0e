import { TurnStatusAtEnd, type Tolerant, type TurnResult, type TurnSnapshot } from "../protocol/index.ts";
import { followTurn, type FollowOptions } from "./follow.ts";
import type { Endpoint } from "./exchange.ts";

/** How the end of a turn is waited for. */
export type WaitOptions = Pick<FollowOptions, "lostAfterMs" | "silentAfterMs" | "signal">;

/** What waiting asks of turnd besides the events. */
export interface WaitCalls {
  readonly turn: (signal: AbortSignal | undefined) => Promise<Tolerant<TurnSnapshot>>;
  readonly result: (signal: AbortSignal | undefined) => Promise<Tolerant<TurnResult>>;
}

const ENDED: ReadonlySet<string> = new Set(TurnStatusAtEnd.options);

/** Follows what is still to come of a turn, in short, and then asks for its result. */
export async function waitForResult(
  endpoint: Endpoint,
  turnId: string,
  options: WaitOptions,
  calls: WaitCalls,
): Promise<Tolerant<TurnResult>> {
  const { signal } = options;
  const { status, last_seq: after } = await calls.turn(signal);
  // One that a newer turnd has added may be of a turn that goes on; of one that has ended nothing more is sent.
  if (!ENDED.has(status)) {
    const rest = followTurn(endpoint, turnId, { ...options, after, isSlim: true });
    // Only its end matters.
    for await (const { type } of rest) if (type === "turn.ended") break;
  }
  return calls.result(signal);
}
