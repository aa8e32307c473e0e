import { useRef, useState } from "preact/hooks";
import type { Tolerant } from "../../protocol/newer-words.ts";
import type { TurnSnapshot } from "../../protocol/turns.ts";
import { turnd } from "../connection.ts";
import { showFault } from "../dialogs/open-dialog.ts";
import { refreshList } from "../list/turn-list.ts";
import { goTo } from "../route.ts";

/** Sends a message to the turn's session: now, in place of what runs, or after it. */
export function Composer({ turn }: { readonly turn: Tolerant<TurnSnapshot> }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [isBusy, setBusy] = useState(false);
  const isOver = turn.status !== "queued" && turn.status !== "running";

  async function send(policy: "steer" | "enqueue"): Promise<void> {
    const input = field.current?.value ?? "";
    if (input.trim() === "") {
      field.current?.focus();
      return;
    }
    setBusy(true);
    try {
      const admitted = await turnd.submit({ session_id: turn.session_id, input, queue_policy: policy });
      if (field.current !== null) field.current.value = "";
      await refreshList();
      goTo(admitted.turn_id);
    } catch (error) {
      showFault(error);
    }
    setBusy(false);
  }

  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send(isOver ? "enqueue" : "steer");
      }}
    >
      <textarea
        id="composer"
        ref={field}
        rows={1}
        maxLength={1_000_000}
        aria-label={isOver ? "Continue this session" : "Steer this turn"}
        placeholder={isOver ? "Continue this session …" : "Say what to do instead …"}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void send(isOver ? "enqueue" : "steer");
        }}
      />
      <button
        type="submit"
        disabled={isBusy}
        title={isOver ? "Ctrl+Enter" : "Is said to the running turn, or stops it at the end of its step. Ctrl+Enter"}
      >
        {isOver ? "Send" : "Steer"}
      </button>
      {!isOver && (
        <button
          type="button"
          class="second"
          disabled={isBusy}
          title="After this turn"
          onClick={() => void send("enqueue")}
        >
          Queue
        </button>
      )}
    </form>
  );
}
