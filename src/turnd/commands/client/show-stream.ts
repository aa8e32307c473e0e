import type { ReadEvent } from "../../client/parse-event.ts";
import { safeText } from "../../../kit/command-line/text.ts";
import { line, withoutReturns, type ShowOptions } from "./lines.ts";
import { showEvent } from "./show-event.ts";

/** Shows the events of one turn, one after the other: a text that comes in pieces is shown as it comes, and once. */
export interface EventShow {
  show(event: ReadEvent): string;
}

/** Makes the show of one turn. */
export function createEventShow(options: ShowOptions): EventShow {
  /** The message whose pieces were shown last, and what has been shown of it. */
  let open: { readonly id: string; text: string } | undefined;
  let isLineOpen = false;

  /** What comes next begins a line. */
  function closeLine(): string {
    const end = isLineOpen ? "\n" : "";
    isLineOpen = false;
    return end;
  }

  function showDelta(id: string, text: string): string {
    const before = open?.id === id ? "" : closeLine();
    if (open?.id === id) open.text += text;
    else open = { id, text };
    const shown = safeText(withoutReturns(text));
    if (shown !== "") isLineOpen = !shown.endsWith("\n");
    return `${before}${shown}`;
  }

  /** Of a text that has been shown as it came, nothing more; a text that came otherwise is shown as it is. */
  function showMessage(event: Extract<ReadEvent, { type: "message" }>): string {
    const { message_id: id, text } = event.data;
    const isShown = open?.id === id && open.text === text;
    open = undefined;
    return `${closeLine()}${isShown ? "" : showEvent(event, options)}`;
  }

  return {
    show(event) {
      switch (event.type) {
        case "message.delta":
          return showDelta(event.data.message_id, event.data.text);
        case "message":
          return showMessage(event);
        case "message.discarded": {
          if (open?.id !== event.data.message_id) return "";
          open = undefined;
          return `${closeLine()}${line(options.style.notice(`! that was cut off: ${event.data.reason}`))}`;
        }
        // The whole of it follows, and pieces of it would stand between those of the answer.
        case "reasoning.delta":
        case "tool.output":
          return "";
        default: {
          const shown = showEvent(event, options);
          return shown === "" ? "" : `${closeLine()}${shown}`;
        }
      }
    },
  };
}
