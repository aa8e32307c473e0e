import type { ReadEvent } from "../../client/parse-event.ts";
import { lookUp } from "../../protocol/index.ts";
import { safeLine, safeText } from "../../../kit/command-line/text.ts";
import { indent, line, withoutReturns, type ShowOptions } from "./lines.ts";
import { showEnd } from "./show-end.ts";
import { showQuestions } from "./show-questions.ts";
import { showToolEnd, toolTitle } from "./show-tool.ts";

/** How much of an unknown line is shown. */
const MOST_UNKNOWN = 200;

/** An event as text for a person; empty where there is nothing to show. Text of CLIs and models is made harmless. */
export function showEvent(event: ReadEvent, options: ShowOptions): string {
  const { style } = options;
  switch (event.type) {
    case "turn.started": {
      const { cli, mode, model } = event.data;
      const parts = [
        `turn ${event.turn_id}`,
        `${event.executor} (${[cli.name, cli.version].filter(Boolean).join(" ")})`,
        ...(mode === "execute" ? [] : [mode]),
        ...(model === undefined ? [] : [model]),
        `session ${event.session_id}`,
      ];
      return line(style.dim(safeLine(parts.join(", "))));
    }
    case "session.degraded":
      return line(style.notice(safeLine(`! the session could not be continued as it was: ${event.data.reason}`)));
    case "message":
      return `${safeText(withoutReturns(event.data.text)).trimEnd()}\n`;
    case "reasoning":
      return indent(event.data.text, "| ", style.dim);
    case "tool.started":
      return line(`${style.heading("*")} ${style.bold(toolTitle(event.data))}`);
    case "tool.ended":
      return showToolEnd(event.data, options);
    case "plan.updated":
      return event.data.entries
        .map(({ status, content }) => line(`  ${lookUp(MARKS, status) ?? "[?]"} ${safeLine(content)}`))
        .join("");
    case "retry": {
      const { attempt, max, code, message } = event.data;
      const of = max === undefined ? "" : ` of ${max}`;
      return line(style.notice(`! retry ${attempt}${of}: ${code}: ${safeLine(message)}`));
    }
    case "permission.denied":
      return line(style.notice(safeLine(`! permission denied: ${event.data.permission}: ${event.data.message}`)));
    case "warning":
      return line(style.notice(safeLine(`! ${event.data.code}: ${event.data.message}`)));
    case "record.unknown":
      return line(style.dim(safeLine(`? ${event.data.reason}: ${event.data.line.slice(0, MOST_UNKNOWN)}`)));
    case "unknown":
      return line(style.dim(safeLine(`? ${event.event_type}: ${JSON.stringify(event.data).slice(0, MOST_UNKNOWN)}`)));
    case "unreadable":
      return line(style.dim(safeLine(`? event ${event.seq}, ${event.reason}: ${event.line.slice(0, MOST_UNKNOWN)}`)));
    case "turn.ended":
      return showEnd(event.data, style);
    case "approval.requested":
      return line(
        style.notice(safeLine(`? approval ${event.data.approval_id}: ${event.data.kind}: ${event.data.title}`)),
      );
    case "approval.resolved":
      return line(style.dim(safeLine(`  ${event.data.decision} by ${event.data.by}`)));
    case "input.requested":
      return showQuestions(event, options);
    case "input.answered":
      return line(style.dim(safeLine(`  answered by ${event.data.by}`)));
    case "input.accepted":
      return event.data.kind === "turn" ? "" : line(style.dim(safeLine(`> ${event.data.request_id} was taken in`)));
    // Pieces of what follows whole: show-stream.ts puts them together.
    case "message.delta":
    case "reasoning.delta":
    case "message.discarded":
    case "tool.output":
    case "session.bound":
    case "step.started":
    case "step.ended":
      return "";
  }
}

const MARKS = { pending: "[ ]", in_progress: "[>]", completed: "[x]", cancelled: "[-]" } as const;
