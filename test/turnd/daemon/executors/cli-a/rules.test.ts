import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { RULES } from "../../../../../src/turnd/daemon/executors/cli-a/failures/failure.ts";
import { FailureCode } from "../../../../../src/turnd/protocol/index.ts";

const FIXTURES = resolve(import.meta.dirname, "../../../../../fixtures");

describe("the failure table of CLI A", () => {
  test.each(RULES)("$id names the fixture or the section it was seen in", ({ seenIn }) => {
    const isSection = /^docs\/[\w/-]+\.md §/.test(seenIn);
    expect(isSection || existsSync(join(FIXTURES, seenIn, "stdout.jsonl")), seenIn).toBe(true);
  });

  test.each(RULES.filter(({ seenIn }) => seenIn.startsWith("cli-a/")))(
    "$id was seen in a fixture that ends with its code",
    ({ seenIn, code }) => {
      const label: unknown = JSON.parse(readFileSync(join(FIXTURES, seenIn, "expected.json"), "utf8"));
      expect(label).toMatchObject({ code });
    },
  );

  test("has one row for each id", () => {
    expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length);
  });

  test("uses codes of the closed list", () => {
    for (const { code } of RULES) expect(FailureCode.options).toContain(code);
  });
});
