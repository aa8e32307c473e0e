import { expect, test } from "vitest";
import { changeToml, parseToml } from "../../../../../src/turnd/daemon/executors/cli-b/config/toml.ts";

test.each([
  ['key = "sk-0123456789', "line 1, column 7"],
  ["a = 1\na = 2\n", "line 2, column 1"],
  ["[table\n", "line 1, column 7"],
])("a fault is reported by its place, without the text: %j", (text, at) => {
  expect(parseToml(text)).toEqual({ ok: false, at });
});

test("what is not changed in a document stays what it is: dates with their offsets, large integers, lists of lists", () => {
  const text = `at = 2026-11-22T08:00:00.500+02:00
on = 2026-11-22
when = 08:00:00
big = 9007199254740993
lists = [ [ 1 ], [ "b", 2 ] ]
`;
  expect(changeToml(text, (table) => ({ ...table, model: "m" }))).toBe(
    text.replace("08:00:00\n", "08:00:00.000\n") + 'model = "m"\n',
  );
});
