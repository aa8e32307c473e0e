import { expect } from "vitest";

/** The block that a document shows behind a command, `…` standing for what is left out. */
export function shownBehind(text: string, command: string): string[] {
  const at = text.indexOf(command);
  const [, shown = ""] = /```\n([^]*?)```/.exec(text.slice(at).replace(/^[^]*?```\n/, "\n")) ?? [];
  expect([command, at > 0, shown.length > 0]).toEqual([command, true, true]);
  return shown.trimEnd().split("\n");
}

const literally = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** Asserts that each shown line is printed, in that order; widths of columns may differ, since not all rows are shown. */
export function expectPrinted(shown: readonly string[], printed: string): void {
  const plain = (line: string): string => line.trim().replaceAll(/ +/g, " ");
  const lines = printed.split("\n").map(plain);
  let from = 0;
  for (const line of shown.map(plain)) {
    if (line === "…") continue;
    const pattern = new RegExp(`^${line.split("…").map(literally).join(".*")}$`);
    const at = lines.findIndex((candidate, index) => index >= from && (candidate === line || pattern.test(candidate)));
    expect([line, at >= from, lines], `${line} is printed`).toEqual([line, true, lines]);
    from = at + 1;
  }
}
