import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LIFECYCLE_PATH, describeLifecycle } from "../../../scripts/generate/lifecycle.ts";

test("docs/lifecycle.md draws the life of a turn as its table has it; `node scripts/generate/lifecycle.ts` makes it anew", () => {
  expect(readFileSync(LIFECYCLE_PATH, "utf8")).toBe(describeLifecycle());
});
