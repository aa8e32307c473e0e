import { useState } from "preact/hooks";
import type { Tolerant } from "../../protocol/newer-words.ts";
import type { LoggedEvent } from "../../protocol/events.ts";
import type { ApprovalDecision } from "../../protocol/interactive-events.ts";
import { turnd } from "../connection.ts";
import { showFault } from "../dialogs/open-dialog.ts";
import { Plain } from "../text/text.tsx";
import type { EventStore } from "./event-store.ts";

type Known<T> = Extract<Tolerant<LoggedEvent>, { type: T }>;

const LABELS: readonly (readonly [ApprovalDecision, string])[] = [
  ["accept", "Allow once"],
  ["accept_for_session", "Allow in this session"],
  ["decline", "Decline"],
  ["cancel", "End the turn"],
];

/** What the turn waits for a person to answer, with the answers. */
export function Asks({ turnId, store }: { readonly turnId: string; readonly store: EventStore }) {
  void store.version.value;
  const asked = new Map<string, Known<"approval.requested"> | Known<"input.requested">>();
  for (const { known } of store.events) {
    if (known?.type === "approval.requested") asked.set(known.data.approval_id, known);
    else if (known?.type === "input.requested") asked.set(known.data.question_id, known);
    else if (known?.type === "approval.resolved") asked.delete(known.data.approval_id);
    else if (known?.type === "input.answered") asked.delete(known.data.question_id);
    else if (known?.type === "turn.ended") asked.clear();
  }
  if (asked.size === 0) return null;
  return (
    <section class="asks" aria-label="The turn asks">
      {[...asked].map(([id, event]) =>
        event.type === "approval.requested" ? (
          <Approval key={id} turnId={turnId} data={event.data} />
        ) : (
          <Questions key={id} turnId={turnId} data={event.data} />
        ),
      )}
    </section>
  );
}

/** Until the events tell of it, the answer cannot be given twice. */
function useAnswer(): [boolean, (give: () => Promise<unknown>) => void] {
  const [isGiven, setGiven] = useState(false);
  return [
    isGiven,
    (give) => {
      setGiven(true);
      give().catch((error: unknown) => {
        setGiven(false);
        showFault(error);
      });
    },
  ];
}

function Approval({ turnId, data }: { readonly turnId: string; readonly data: Known<"approval.requested">["data"] }) {
  const [note, setNote] = useState("");
  const [isGiven, give] = useAnswer();
  return (
    <form class="ask" onSubmit={(event) => event.preventDefault()}>
      <span>
        Allow to {data.kind}:{" "}
        <code>
          <Plain text={data.title} />
        </code>
      </span>
      {LABELS.map(([decision, label]) =>
        data.choices.includes(decision) ? (
          <button
            key={decision}
            type="button"
            disabled={isGiven}
            onClick={() =>
              give(() =>
                turnd.decide(turnId, data.approval_id, {
                  decision: decision,
                  ...(note === "" ? {} : { note }),
                }),
              )
            }
          >
            {label}
          </button>
        ) : null,
      )}
      <input
        aria-label="Why"
        placeholder="Why, for the model …"
        value={note}
        onInput={(event) => setNote(event.currentTarget.value)}
      />
    </form>
  );
}

function Questions({ turnId, data }: { readonly turnId: string; readonly data: Known<"input.requested">["data"] }) {
  const [answers, setAnswers] = useState<Record<string, string>>({});
  const [isGiven, give] = useAnswer();
  const isWhole = data.questions.every(({ id }) => (answers[id] ?? "") !== "");
  return (
    <form
      class="ask"
      onSubmit={(event) => {
        event.preventDefault();
        const given = Object.fromEntries(data.questions.map(({ id }) => [id, [answers[id] ?? ""]]));
        give(() => turnd.answer(turnId, data.question_id, given));
      }}
    >
      {data.questions.map(({ id, text, options, free_text: isFree, secret }) => {
        const set = (value: string): void => setAnswers((before) => ({ ...before, [id]: value }));
        return (
          <label key={id}>
            <Plain text={text} />
            {options.length > 0 && (
              <select value={answers[id] ?? ""} onChange={(event) => set(event.currentTarget.value)}>
                <option value="">…</option>
                {options.map(({ label }) => (
                  <option key={label} value={label}>
                    {label}
                  </option>
                ))}
              </select>
            )}
            {isFree && (
              <input
                aria-label="Answer"
                {...(secret ? { type: "password" as const } : {})}
                onInput={(event) => set(event.currentTarget.value)}
              />
            )}
          </label>
        );
      })}
      <button type="submit" disabled={isGiven || !isWhole}>
        Answer
      </button>
    </form>
  );
}
