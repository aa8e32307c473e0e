import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { whatToDo } from "../harness/unread-features.ts";

test("a feature that nobody has looked at: the message has where to read of it, and the lists of which one is edited", () => {
  const message = whatToDo("9.9.9");
  expect(message).toContain("codex-rs/features/src/lib.rs of the tag rust-v9.9.9");
  const named = [...message.matchAll(/(\S+\.ts) \((\w+)\)/g)];
  expect(named.length).toBe(2);
  for (const [, path = "", list = ""] of named) {
    expect(readFileSync(join(import.meta.dirname, "../..", path), "utf8"), path).toMatch(
      new RegExp(`const ${list}\\b`),
    );
  }
});
