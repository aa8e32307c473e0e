import { dirname, join } from "node:path";
import { TurnEndedData } from "../../../protocol/index.ts";
import type { FailureDraft } from "../../executors/contract/failures.ts";
import type { Turn } from "../lifecycle/turn.ts";
import type { TurnFacts } from "../outcome/conclude.ts";
import { ownFailure } from "../outcome/own-failure.ts";
import type { RunOutcome } from "../outcome/run-outcome.ts";
import { readLogged } from "./logged-event.ts";

/** What the requests that end a turn are called where one is ended for them. */
const STOPS = { request: "cancel", steer: "steer", session_deleted: "session_deleted" } as const;

/**
 * Looks whether the turn that ran before took in what this one says: then both end alike, and this one never runs. Laws: at
 * most once and success is proved.
 *
 * @returns undefined where it did not
 */
export async function findTaken({ directory, file, life }: Turn): Promise<RunOutcome | undefined> {
  // One that is cancelled while it waits is, whatever becomes of what it said.
  if (file.given_to === undefined || life.stopReason !== undefined) return undefined;
  let seq: number | undefined;
  let ended: TurnEndedData | undefined;
  for await (const event of readLogged(join(dirname(directory), file.given_to, "events.jsonl"))) {
    if (event.type === "input.accepted" && event.data()["request_id"] === file.request_id) seq = event.seq;
    else if (event.type === "turn.ended") ended = TurnEndedData.parse(event.data());
  }
  if (seq === undefined) return undefined;
  const taken = { turn_id: file.given_to, seq, output: ended?.output ?? null };
  return { facts: { ...factsOf(taken, ended), taken, exit: null, isDegraded: ended?.degraded ?? false } };
}

function factsOf(
  { turn_id: turnId }: { readonly turn_id: string },
  ended: TurnEndedData | undefined,
): Pick<TurnFacts, "endedBy" | "halt"> {
  if (ended === undefined) return { endedBy: null, halt: ownFailure("storage_error", unknownEnd(turnId)) };
  if (ended.status === "cancelled") return { endedBy: STOPS[ended.cancelled_by ?? "request"] };
  return ended.failure === undefined ? { endedBy: null } : { endedBy: null, halt: alike(turnId, ended.failure) };
}

function unknownEnd(turnId: string): string {
  return `Turn ${turnId} took its input in, and how that one ended is not in its log.`;
}

function alike(turnId: string, { code, message }: NonNullable<TurnEndedData["failure"]>): FailureDraft {
  return ownFailure(code, `Turn ${turnId} took its input in, and failed: ${message}`);
}
