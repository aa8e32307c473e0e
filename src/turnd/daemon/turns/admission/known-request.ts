import { ProblemError } from "../../../protocol/index.ts";
import type { Tombstones } from "../store/tombstones.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { describeUnreadable, type TurnStore } from "../store/turn-store.ts";

/** Where requests are known from. */
export interface KnownRequests {
  readonly store: TurnStore;
  readonly tombstones: Tombstones;
}

/**
 * The turn of a request that was let in before (law: at most once); undefined for a new one.
 *
 * @param hash - of the request: the same id with another body is a conflict
 * @throws {ProblemError} session_not_found, request_id_conflict
 */
export function findKnown(
  { store, tombstones }: KnownRequests,
  id: string | undefined,
  hash: string,
): Turn | undefined {
  if (id === undefined) return undefined;
  const stone = tombstones.find(id);
  if (stone !== undefined) {
    throw new ProblemError(
      "session_not_found",
      `request ${id} ran in session ${stone.session_id}, which was deleted; it is not run again`,
      { turn_id: stone.turn_id },
    );
  }
  const lost = store.findUnreadable(id);
  if (lost !== undefined)
    throw new ProblemError("request_id_conflict", describeUnreadable(lost), { turn_id: lost.turn_id });
  const turn = store.findRequest(id);
  if (turn !== undefined && turn.file.request_hash !== hash) {
    throw new ProblemError(
      "request_id_conflict",
      `request_id ${id} was used for another body; use a new id for a new request`,
      { turn_id: turn.file.turn_id },
    );
  }
  return turn;
}

/**
 * Law: at most once. An id that may be that of a request whose record is lost is not run. A turn without an id is
 * always a new one.
 *
 * @throws {ProblemError} storage_full
 */
export function refuseIfUncertain({ store, tombstones }: KnownRequests, id: string | undefined): void {
  const fault = tombstones.fault() ?? store.lostRequests();
  if (id === undefined || fault === undefined) return;
  throw new ProblemError("storage_full", `request ${id} may have run already: ${fault}`);
}
