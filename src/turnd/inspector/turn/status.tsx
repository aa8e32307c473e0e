import type { Tolerant } from "../../protocol/newer-words.ts";
import type { TurnStatus } from "../../protocol/turns.ts";

/** A turn's status, by word and by colour. */
export function StatusMark({ status }: { readonly status: Tolerant<TurnStatus> }) {
  return (
    <span class={`status ${status}`}>
      <span class="dot" aria-hidden="true" />
      {status}
    </span>
  );
}
