import { expect, test } from "vitest";
import { pretty, toFlatJson, toJsonText } from "../../../src/turnd/inspector/text/json-text.ts";

function nested(depth: number): string {
  return `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
}

test("JSON has its fields on lines of their own, and what is none stays as it is", () => {
  expect(pretty('{"a":[1,{"b":2}]}')).toBe('{\n  "a": [\n    1,\n    {\n      "b": 2\n    }\n  ]\n}');
  expect(pretty("no {json")).toBe("no {json");
  expect(toJsonText(undefined)).toBe("undefined");
});

test("what is nested thousands deep is no megabytes of blanks", () => {
  const text = nested(3_000);
  expect(pretty(text)).toBe(text);
  expect(toJsonText(JSON.parse(text))).toBe(text);
  expect(toJsonText(JSON.parse(nested(2_000))).length).toBeLessThan(20_000_000);
});

test("what is nested deeper than the stack reaches is said to be", () => {
  let value: unknown = 1;
  for (let depth = 0; depth < 200_000; depth += 1) value = [value];
  expect(toJsonText(value)).toBe("nested too deeply to be shown");
  expect(toFlatJson(value)).toBeUndefined();
});
