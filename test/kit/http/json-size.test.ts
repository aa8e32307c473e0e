import fc from "fast-check";
import { expect, test } from "vitest";
import { scanJson } from "../../../src/kit/http/json-size.ts";

const NO_LIMIT = { values: Infinity, depth: Infinity };
const bytes = (text: string) => Buffer.from(text);

/** Values and names of a value, and its levels, as they are after parsing. */
function measure(value: unknown): { values: number; depth: number } {
  if (typeof value !== "object" || value === null) return { values: 1, depth: 0 };
  const inner = Object.values(value).map(measure);
  const names = Array.isArray(value) ? 0 : inner.length;
  return {
    values: 1 + names + inner.reduce((sum, each) => sum + each.values, 0),
    depth: 1 + Math.max(0, ...inner.map((each) => each.depth)),
  };
}

test("a text has as many values, and is as deep, as what is parsed from it", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
      // Names that are there twice are parsed once.
      const text = bytes(JSON.stringify(value, undefined, indent));
      const { values, depth } = measure(value);
      expect(scanJson(text, { values, depth }).excess).toBeUndefined();
      expect(scanJson(text, { ...NO_LIMIT, values: values - 1 }).excess).toBe("values");
      if (depth > 0) expect(scanJson(text, { ...NO_LIMIT, depth: depth - 1 }).excess).toBe("depth");
    }),
  );
});

test.each([
  ["quotes that are escaped", String.raw`["a\"b\\", "\\\"", "c"]`, 4],
  ["brackets and commas in strings", '["[[[[", "],},", {"a,b": "{"}]', 6],
  ["numbers and words", "[1,-2.5e3,true,false,null]", 6],
  ["blanks of every kind", "\r\n\t [ 1 ,\n2 ] ", 3],
  ["names that are there twice", '{"a":1,"a":1}', 5],
])("%s are counted for what they are", (_what, text, values) => {
  expect(scanJson(bytes(text), { ...NO_LIMIT, values }).excess).toBeUndefined();
  expect(scanJson(bytes(text), { ...NO_LIMIT, values: values - 1 }).excess).toBe("values");
});

test("what is no JSON is looked at to its end, or to the limit", () => {
  for (const text of ['"', '"\\', '{"a', "]]]]", "", '"\\"', "\u0000"])
    expect(scanJson(bytes(text), { values: 10, depth: 10 }).excess).toBeUndefined();
  expect(scanJson(bytes('"'.repeat(100)), { values: 10, depth: 10 }).excess).toBe("values");
});
