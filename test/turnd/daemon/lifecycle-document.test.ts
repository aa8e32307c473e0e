import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ARCHITECTURE_PATH, withLifecycle } from "../../../scripts/generate/lifecycle.ts";

test("ARCHITECTURE.md draws the life of a turn as its table has it; `node scripts/generate/lifecycle.ts` makes it anew", () => {
  const document = readFileSync(ARCHITECTURE_PATH, "utf8");
  expect(document).toBe(withLifecycle(document));
});
