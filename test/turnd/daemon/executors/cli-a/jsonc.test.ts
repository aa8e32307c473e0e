import { expect, test } from "vitest";
import { readJsonc } from "../../../../../src/turnd/daemon/executors/cli-a/config/jsonc.ts";

test.each([
  ['{"a":1}', { a: 1 }],
  ['{"a":1,}', { a: 1 }],
  ["[1,2,]", [1, 2]],
  ['// c\n{"a":/*x*/1}//', { a: 1 }],
  ['{"a":"// no comment, /* nor this"}', { a: "// no comment, /* nor this" }],
  ['"x"', "x"],
])("%j is read", (text, value) => {
  expect(readJsonc(text)).toEqual({ ok: true, value });
});

test.each([
  ["", 1, 1],
  ["// only", 1, 8],
  ["/* open", 1, 1],
  ['{"a":sk-secret}', 1, 6],
  ['{"a":\n  sk-secret}', 2, 3],
  ['{"a":"sk-secret', 1, 6],
  ['{"a":"\\q sk-secret"}', 1, 6],
  ["{\"a\":'sk-secret'}", 1, 6],
  ['{"a":1} sk-secret', 1, 9],
  ['{"a":1,,"b":"sk-secret"}', 1, 8],
  ["[1,,2]", 1, 4],
])("%j is refused with its place alone", (text, line, column) => {
  expect(readJsonc(text)).toEqual({ ok: false, where: ` (line ${line}, column ${column})` });
});

test("what is nested beyond what can be read is refused", () => {
  expect(readJsonc("[".repeat(100_000))).toEqual({ ok: false, where: " (nested too deeply)" });
});
