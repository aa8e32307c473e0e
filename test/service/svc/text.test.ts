import { expect, test } from "vitest";
import { drawBar } from "../../../src/service/svc/progress.ts";
import {
  cutToWidth,
  formatBytes,
  safeJson,
  safeLine,
  safeText,
  table,
  widthOf,
} from "../../../src/kit/command-line/text.ts";

test("text of others cannot steer the terminal", () => {
  expect(safeText("a\u001b[31mb\u009bc\u202ed\te\nf\r")).toBe("a\\x1b[31mb\\x9bc\\u202ed\te\nf\\x0d");
  expect(safeLine("a\tb\nc")).toBe("a\\tb\\nc");
  const body = { text: "a\u009bb\u202ec\u001b\n" };
  for (const character of ["\u009b", "\u202e", "\u001b"]) expect(safeJson(body)).not.toContain(character);
  expect(JSON.parse(safeJson(body))).toEqual(body);
});

test("columns stay aligned over wide characters", () => {
  expect(widthOf("知識a\u0301")).toBe(5);
  expect(
    table(
      ["A", "B"],
      [
        ["知識", "x"],
        ["abcde", "y"],
      ],
    ),
  ).toBe("A      B\n知識   x\nabcde  y");
});

test("a text is cut where it would be wider than there is room", () => {
  expect([0, 1, 2, 3, 4, 9].map((columns) => cutToWidth("a知識", columns))).toEqual([
    "",
    "a",
    "a",
    "a知",
    "a知",
    "a知識",
  ]);
  expect(cutToWidth("👩‍🚀 e\u0301", -1)).toBe("");
});

test("a bar is never wider than the terminal", () => {
  expect(drawBar(0.5, "parsing 知識知識知識知識知識知識.md", 40)).toBe("[##########----------]  50 % parsing 知");
  for (const share of [-1, 0, 1, 2, Number.NaN]) expect(widthOf(drawBar(share, "x".repeat(99), 60))).toBe(59);
});

test("sizes are for people", () => {
  expect([0, 1_023, 1_536, 104_857_600].map(formatBytes)).toEqual(["0 B", "1023 B", "1.5 KiB", "100 MiB"]);
});
