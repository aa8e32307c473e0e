import { expect, expectTypeOf, test } from "vitest";
import { defined } from "../../src/kit/defined.ts";

interface Options {
  readonly name: string;
  readonly limit?: number;
  readonly mode?: "fast" | "slow";
}

function optionsOf(limit: number | undefined, mode: "fast" | "slow" | undefined): Options {
  return { name: "one", ...defined({ limit, mode }) };
}

test("members that are undefined are left out, others kept in their order", () => {
  expect(Object.entries(optionsOf(undefined, "fast"))).toEqual([
    ["name", "one"],
    ["mode", "fast"],
  ]);
  expect(Object.entries(defined({ b: 1, gone: undefined, a: 2 }))).toEqual([
    ["b", 1],
    ["a", 2],
  ]);
});

test("null, false, zero, an empty text and what is nested are kept as they are", () => {
  const nested = { inner: undefined };
  const kept = defined({ none: null, no: false, zero: 0, empty: "", nested });
  expect(Object.keys(kept)).toEqual(["none", "no", "zero", "empty", "nested"]);
  expect(kept.nested).toBe(nested);
});

test("a member that may be undefined becomes an optional one, all others stay required", () => {
  const kept = (name: string, limit: number | undefined) => defined({ name, limit });
  expectTypeOf(kept).returns.toExtend<{ name: string; limit?: number }>();
  expectTypeOf(kept).returns.not.toExtend<{ limit: number }>();
  expect(kept("one", undefined)).toStrictEqual({ name: "one" });
});
