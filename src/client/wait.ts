import type { TurnResult, TurnSnapshot } from "../protocol/index.ts";
import { followTurn, type FollowOptions } from "./follow.ts";
import type { Endpoint } from "./exchange.ts";

/** How the end of a turn is waited for. */
export type WaitOptions = Pick<FollowOptions, "lostAfterMs" | "silentAfterMs" | "signal">;

/** What waiting asks of turnd besides the events. */
export interface WaitCalls {
  readonly turn: (signal: AbortSignal | undefined) => Promise<TurnSnapshot>;
  readonly result: (signal: AbortSignal | undefined) => Promise<TurnResult>;
}

/** Follows what is still to come of a turn, in short, and then asks for its result. */
export async function waitForResult(
  endpoint: Endpoint,
  turnId: string,
  options: WaitOptions,
  calls: WaitCalls,
): Promise<TurnResult> {
  const { signal } = options;
  const { status, last_seq: after } = await calls.turn(signal);
  if (status === "queued" || status === "running") {
    const rest = followTurn(endpoint, turnId, { ...options, after, isSlim: true });
    // Only its end matters.
    for await (const { type } of rest) if (type === "turn.ended") break;
  }
  return calls.result(signal);
}
