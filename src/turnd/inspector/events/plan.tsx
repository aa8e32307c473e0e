import type { Tolerant } from "../../protocol/newer-words.ts";
import type { LoggedEvent } from "../../protocol/events.ts";
import { Plain } from "../text/text.tsx";

type Entries = Extract<Tolerant<LoggedEvent>, { type: "plan.updated" }>["data"]["entries"];
type Status = Entries[number]["status"];

const MARKS: Readonly<Record<Status, string>> = { pending: "○", in_progress: "◐", completed: "●", cancelled: "✕" };

/** A plan's entries, each with its status. */
export function PlanBody({ entries }: { readonly entries: Entries }) {
  return (
    <ul class="plan">
      {entries.map(({ content, status, priority }, index) => (
        <li key={index} class={status}>
          <span aria-hidden="true">{MARKS[status]}</span>
          <span class="visually-hidden">{status.replaceAll("_", " ")}: </span>
          <Plain text={content} />
          {priority !== undefined && (
            <span class="muted">
              {" "}
              <Plain text={priority} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
