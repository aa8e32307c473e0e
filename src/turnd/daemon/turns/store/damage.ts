import type { SessionStore } from "../../sessions/session-store.ts";
import type { Tombstones } from "./tombstones.ts";
import type { TurnStore } from "./turn-store.ts";

/** Where damage is known from. */
export interface DamageSources {
  readonly sessions: Pick<SessionStore, "unreadable">;
  readonly store: Pick<TurnStore, "listUnreadable" | "lostRequests">;
  readonly tombstones: Pick<Tombstones, "fault">;
}

/** What is damaged among the files of the state; undefined where nothing is. It names no id: anyone may ask for readiness. */
export function describeDamage({ sessions, store, tombstones }: DamageSources): string | undefined {
  const unreadable = new Set(sessions.unreadable());
  const turns = store.listUnreadable().filter(({ session_id }) => !unreadable.has(session_id));
  const counts = [...count("session", unreadable.size), ...count("turn", turns.length)];
  const lost = `${counts.join(" and ")} cannot be read; turnd's log names them, and deleting a session removes what is left`;
  const uncertain = "until then no new request with an id of its own is let in: it may have run";
  const described = store.lostRequests() === undefined ? lost : `${lost}; ${uncertain}`;
  const fault = tombstones.fault();
  return [...(counts.length === 0 ? [] : [described]), ...(fault === undefined ? [] : [fault])].join("; ") || undefined;
}

function count(noun: string, number: number): string[] {
  return number === 0 ? [] : [`${number} ${noun}${number === 1 ? "" : "s"}`];
}
