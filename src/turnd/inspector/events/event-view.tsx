import type { ComponentChildren } from "preact";
import { toJsonText } from "../text/json-text.ts";
import { Code } from "../text/text.tsx";
import { PRESENTERS, type DataOf, type EventType, type Presenter, type Tone } from "./presenters.tsx";
import type { ShownEvent } from "./shown-event.ts";

/** How an event is rendered. */
export interface View {
  readonly label: string;
  readonly tone: Tone;
  readonly headline: ComponentChildren;
  readonly body: ComponentChildren;
}

/** How an event is shown: by the table of known types, or as what it is where the table has none. */
export function viewOf(event: ShownEvent): View {
  if (event.known !== undefined) return viewOfKnown(event.known);
  return {
    label: event.type,
    tone: "plain",
    headline: "an event that this page does not know",
    body: <Code text={typeof event.data === "string" ? event.data : toJsonText(event.data)} />,
  };
}

/** A type with the data of that type, so that both reach the same entry of the table. */
type Pair<T extends EventType> = { readonly [K in T]: { readonly type: K; readonly data: DataOf<K> } }[T];

function viewOfKnown<T extends EventType>({ type, data }: Pair<T>): View {
  const presenter: Presenter<T> = PRESENTERS[type];
  return {
    label: presenter.label,
    tone: presenter.tone(data),
    headline: presenter.headline(data),
    body: presenter.body?.(data),
  };
}
