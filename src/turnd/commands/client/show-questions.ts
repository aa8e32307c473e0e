import type { ReadEvent } from "../../client/parse-event.ts";
import { indent, type ShowOptions } from "./lines.ts";

/** What a person is asked, in lines. */
export function showQuestions(
  { data }: Extract<ReadEvent, { type: "input.requested" }>,
  { style }: Pick<ShowOptions, "style">,
): string {
  return data.questions
    .map(({ text, options }) => {
      const choices = options.map(({ label, description }) => `- ${[label, description].filter(Boolean).join(": ")}`);
      return indent([text, ...choices].join("\n"), "? ", style.notice);
    })
    .join("");
}
