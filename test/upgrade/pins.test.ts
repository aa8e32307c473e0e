import { expect, test } from "vitest";
import { addVersion, findUpgradable, isLocked, readView } from "../../scripts/upgrade/candidate.ts";

const PINNED = `${JSON.stringify({ name: "pins", optionalDependencies: { "codex-1.0.0": "npm:@openai/codex@1.0.0-linux-x64" } }, null, 2)}\n`;
const lockOf = (manifest: string): string => JSON.stringify({ packages: { "": JSON.parse(manifest) } });

test("pins whose lock was not made, as after an interruption, are locked by the next run", () => {
  const codex = findUpgradable("codex");
  if (codex === undefined) throw new Error("codex cannot be upgraded");
  const after = addVersion(PINNED, codex, "1.1.0");
  expect(isLocked(PINNED, lockOf(PINNED))).toBe(true);
  // The first run had come as far as the manifest.
  expect(addVersion(after, codex, "1.1.0")).toBe(after);
  expect(isLocked(after, lockOf(PINNED))).toBe(false);
  expect(isLocked(after, lockOf(after))).toBe(true);
});

test.each([
  ["", "the registry has no p@1"],
  [`{"error":{"code":"E404","summary":"No match found"}}`, "the registry has no p@1"],
  [`["1.0.0","1.1.0"]`, "the registry has no p@1: it has 1.0.0, 1.1.0; name one"],
  [
    `{"error":{"code":"ECONNREFUSED","summary":"connect ECONNREFUSED"}}`,
    "the registry cannot be asked for p@1: ECONNREFUSED: connect ECONNREFUSED",
  ],
])("an answer %j of npm is a sentence to act on", (stdout, message) => {
  expect(() => readView("p@1", stdout)).toThrow(message);
});

test("one version is the answer", () => {
  expect(readView("p@latest", `"1.1.0"`)).toBe("1.1.0");
});
