import fc from "fast-check";
import { expect, test } from "vitest";
import { createNormaliser, normalise } from "../../../../src/service/knowledge/parse/normalise.ts";

test("line ends, trailing blanks, control characters and blank lines are made alike", () => {
  expect(normalise("\ufeff\r\n\na \t\r\nb\rc\0d\n\n\n\ne\u0301\n\n")).toBe("a\nb\ncd\n\n\u00e9\n");
});

test("long lines are broken at a blank, those of tables and fences later", () => {
  const words = "word ".repeat(1_000).trim();
  for (const line of normalise(words).trimEnd().split("\n")) expect(line).toMatch(/^(word ?){1,200}$/);
  expect(normalise(`| ${words} |`)).toBe(`| ${words} |\n`);
  expect(normalise(`\`\`\`\n${words}\n\`\`\``)).toBe(`\`\`\`\n${words}\n\`\`\`\n`);
  expect(
    normalise("x".repeat(2_500))
      .split("\n")
      .map(({ length }) => length),
  ).toEqual([1_000, 1_000, 500, 0]);
});

const line = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "",
    "",
    "```",
    "~~~~",
    "| a |",
    "# h",
    " \t",
    "\r",
    "\r\n",
    "e\u0301",
    "\u0301",
    "\ud800",
    "\u2028",
    "`".repeat(4),
  ),
  fc
    .record({
      head: fc.constantFrom("", "| ", "``` ", "    "),
      word: fc.constantFrom("ab ", "```", "x", "𠀀", "\u0301 ", " ~~~ "),
      count: fc.integer({ min: 300, max: 4_000 }),
    })
    .map(({ head, word, count }) => head + word.repeat(count)),
);
const text = fc.array(line, { maxLength: 12 }).map((lines) => lines.join("\n"));

test("normalising again changes nothing", () => {
  fc.assert(
    fc.property(text, (value) => {
      const once = normalise(value);
      expect(normalise(once) === once).toBe(true);
      expect(/[ \t]\n|\n\n\n|^\n|\r|\0/.test(once)).toBe(false);
    }),
    { numRuns: 150 },
  );
});

test("pieces give what the whole gives", () => {
  fc.assert(
    fc.property(text, fc.array(fc.nat(5_000), { maxLength: 6 }), (value, cuts) => {
      const normaliser = createNormaliser();
      let out = "";
      let at = 0;
      for (const cut of cuts.toSorted((one, two) => one - two)) {
        if (cut <= at || cut >= value.length) continue;
        out += normaliser.push(value.slice(at, cut));
        at = cut;
      }
      out += normaliser.push(value.slice(at)) + normaliser.end();
      expect(out === normalise(value)).toBe(true);
    }),
    { numRuns: 150 },
  );
});
