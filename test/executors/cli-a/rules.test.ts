import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { RULES } from "../../../src/daemon/executors/cli-a/failure.ts";
import { FailureCode } from "../../../src/protocol/index.ts";

const FIXTURES = resolve(import.meta.dirname, "../../../fixtures");

describe("the failure table of CLI A", () => {
  test.each(RULES)("$id names the fixture or the section it was seen in", ({ seenIn }) => {
    const isSection = /^(?:contract|DESIGN) section /.test(seenIn);
    expect(isSection || existsSync(join(FIXTURES, seenIn, "stdout.jsonl")), seenIn).toBe(true);
  });

  test("has one row for each id", () => {
    expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length);
  });

  test("uses codes of the closed list", () => {
    for (const { code } of RULES) expect(FailureCode.options).toContain(code);
  });
});
