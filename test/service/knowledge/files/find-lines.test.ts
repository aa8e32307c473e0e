import fc from "fast-check";
import { expect, test } from "vitest";
import { findLines, PatternInvalid, type Search } from "../../../../src/service/knowledge/files/find-lines.ts";

const find = (text: string, patterns: readonly string[], more: Partial<Search> = {}) =>
  findLines({
    text,
    patterns,
    isRegex: true,
    isCaseSensitive: false,
    maxWindows: 5,
    windowSize: 80,
    afterLine: 0,
    ...more,
  });

test("what RE2 does not take is refused, the pattern with it", () => {
  for (const pattern of ["(a)\\1", "(?=a)", "(?<!a)b", "a{1001}", "((a{100}){100}){100}", "(", "[z-a]", "*", "\\"]) {
    expect(() => find("a", [pattern])).toThrow(PatternInvalid);
    expect(() => find("a", [pattern])).toThrow(JSON.stringify(pattern));
  }
});

test("patterns that never end elsewhere, a line of a megabyte and deep ones are done", () => {
  const long = `${"a".repeat(100_000)}!`;
  for (const pattern of ["(a+)+$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(a|aa)+$", "(.*)(.*)(.*)(.*)(.*)y"])
    expect(find(long, [pattern]).total_matches).toBe(0);
  expect(find(`${"x".repeat(1_000_000)}needle\nb`, ["needle$"])).toMatchObject({ total_matches: 1, total_lines: 2 });
  expect(find("a", [`${"(".repeat(240)}a${")".repeat(240)}`]).total_matches).toBe(1);
});

test("keywords are literal, in any case unless asked for", () => {
  const text = "a.b\nA.B\naxb\n机翼\n";
  const keywords = { isRegex: false };
  expect(find(text, ["a.b"], keywords).windows[0]?.matched_lines).toEqual([1, 2]);
  expect(find(text, ["a.b"], { ...keywords, isCaseSensitive: true }).windows[0]?.matched_lines).toEqual([1]);
  expect(find(text, ["翼", "axb"], keywords).windows[0]?.matched_lines).toEqual([3, 4]);
  expect(find(text, ["a.b"]).windows[0]?.matched_lines).toEqual([1, 2, 3]);
});

test("windows hold every match once, in order, without overlap, and going on behind one leads through all of them", () => {
  const searches = fc.record({
    lines: fc.array(fc.constantFrom("hit", "miss", ""), { maxLength: 120 }),
    windowSize: fc.integer({ min: 1, max: 12 }),
    maxWindows: fc.integer({ min: 1, max: 4 }),
  });
  fc.assert(
    fc.property(searches, ({ lines, windowSize, maxWindows }) => {
      const text = lines.map((line) => `${line}\n`).join("");
      const expected = lines.flatMap((line, index) => (line === "hit" ? [index + 1] : []));
      const seen: number[] = [];
      let afterLine: number | null = 0;
      while (afterLine !== null) {
        const found = find(text, ["hit"], { windowSize, maxWindows, afterLine });
        expect(found.total_matches).toBe(expected.length);
        expect(found.total_lines).toBe(lines.length);
        expect(found.has_more).toBe(found.next_after_line !== null);
        let last: number = afterLine;
        for (const window of found.windows) {
          expect(window.start_line).toBeGreaterThan(last);
          expect(window.end_line - window.start_line).toBeLessThan(windowSize);
          expect(window.content).toBe(lines.slice(window.start_line - 1, window.end_line).join("\n"));
          seen.push(...window.matched_lines);
          last = window.end_line;
        }
        afterLine = found.next_after_line;
      }
      expect(seen).toEqual(expected);
    }),
  );
});
