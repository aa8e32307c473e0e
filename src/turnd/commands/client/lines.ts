import { safeText } from "../../../kit/command-line/text.ts";
import type { Style } from "./style.ts";

/** How events are shown. */
export interface ShowOptions {
  readonly style: Style;
  /** Every line of a tool's output, and every character of it. */
  readonly isFull: boolean;
}

/** Ends a line. */
export function line(text: string): string {
  return `${text}\n`;
}

/** Lines of others, each behind a mark. */
export function indent(text: string, mark: string, style: (text: string) => string): string {
  return safeText(withoutReturns(text).trimEnd())
    .split("\n")
    .map((one) => line(style(`${mark}${one}`)))
    .join("");
}

/** With the line ends that text has: a program that writes for a terminal puts another character before each. */
export function withoutReturns(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
