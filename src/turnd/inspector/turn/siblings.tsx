import { useEffect, useState } from "preact/hooks";
import type { Tolerant } from "../../protocol/newer-words.ts";
import type { Session } from "../../protocol/sessions.ts";
import type { TurnSnapshot } from "../../protocol/turns.ts";
import { renewals, turnd } from "../connection.ts";
import { turns } from "../list/turn-list.ts";
import { goTo } from "../route.ts";
import { formatCount, shortId } from "../text/format.ts";

/** A turn's place among those of its session, and the ways to its neighbours. */
export function Siblings({ turn }: { readonly turn: Tolerant<TurnSnapshot> }) {
  const session = useSession(turn);
  const ids = session?.turns ?? [];
  const at = ids.indexOf(turn.turn_id);
  const count = session?.turn_count ?? ids.length;
  return (
    <span title={turn.session_id}>
      <Neighbour id={at === -1 ? undefined : ids[at - 1]} label="Turn before" arrow="←" /> session{" "}
      {shortId(turn.session_id)}
      {at !== -1 && count > 1 && ` (${formatCount(count - ids.length + at + 1)} of ${formatCount(count)})`}{" "}
      <Neighbour id={at === -1 ? undefined : ids[at + 1]} label="Turn after" arrow="→" />
    </span>
  );
}

interface NeighbourProps {
  readonly id: string | undefined;
  readonly label: string;
  readonly arrow: string;
}

function Neighbour({ id, label, arrow }: NeighbourProps) {
  if (id === undefined) return null;
  return (
    <button type="button" class="quiet small" aria-label={label} onClick={() => goTo(id)}>
      {arrow}
    </button>
  );
}

/** The session, asked for again when the list shows another newest turn of it. */
function useSession({ session_id: id }: Tolerant<TurnSnapshot>): Tolerant<Session> | undefined {
  const [session, setSession] = useState<Tolerant<Session> | undefined>(undefined);
  const newest = turns.value.find((turn) => turn.session_id === id)?.turn_id;
  const renewed = renewals.value;
  useEffect(() => {
    const controller = new AbortController();
    // Where it cannot be asked for, only the turn is shown.
    turnd.session(id, { signal: controller.signal }).then(setSession, () => undefined);
    return () => controller.abort();
  }, [id, newest, renewed]);
  return session;
}
