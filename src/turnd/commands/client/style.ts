import { styleText } from "node:util";
import { takesColors } from "../../../kit/command-line/colors.ts";

/** Emphasis of a text that is safe already. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  notice(text: string): string;
  heading(text: string): string;
}

/** Colours for a stream that supports them. */
export function createStyle(stream: NodeJS.WriteStream, env: Readonly<Record<string, string | undefined>>): Style {
  const isPlain = !takesColors(stream, env);
  const by =
    (format: Parameters<typeof styleText>[0]) =>
    (text: string): string =>
      isPlain || text === "" ? text : styleText(format, text, { validateStream: false });
  return {
    bold: by("bold"),
    dim: by("dim"),
    good: by("green"),
    bad: by("red"),
    notice: by("yellow"),
    heading: by("cyan"),
  };
}
