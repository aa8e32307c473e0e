import fc from "fast-check";
import { expect, test } from "vitest";
import { divideBlocks } from "../../../src/turnd/inspector/text/divide-blocks.ts";

test("a long text is divided at blank lines, and never within a fenced block of code", () => {
  const code = `\`\`\`sh\n${"echo\n\n".repeat(500)}\`\`\`\n`;
  const prose = "Some words.\n\n".repeat(900);
  const blocks = divideBlocks(prose + code + prose);
  expect(blocks.every(({ text, isWhole }) => isWhole === text.length <= 8_000)).toBe(true);
  expect(blocks.filter(({ text }) => text.includes("```")).map(({ text }) => text.match(/```/g)?.length)).toEqual([2]);
  expect(divideBlocks("x".repeat(9_000))).toEqual([{ text: "x".repeat(9_000), isWhole: false }]);
});

test("the blocks of any text together are the text", () => {
  const piece = fc.constantFrom("word ", "\n", "\n\n", "```", "~~~~", "\r\n", " ", "x".repeat(700), "```\n\n");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 200 }), (pieces) => {
      const text = pieces.join("");
      expect(
        divideBlocks(text)
          .map((block) => block.text)
          .join(""),
      ).toBe(text);
    }),
  );
});
