import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isInstalled } from "../../scripts/install-missing.mjs";
import { addVersion, assertInstalled, findUpgradable, isLocked, readView } from "../../scripts/upgrade/candidate.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

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

/** A directory of npm's, with what it has noted as installed, and what is there of it. */
function makeInstalled(noted: readonly string[], there: readonly string[], version = "1.1.0"): string {
  const directory = temporaryDirectory(onTestFinished);
  const packages = Object.fromEntries(noted.map((name) => [`node_modules/${name}`, { version: "1.1.0" }]));
  for (const name of there) {
    mkdirSync(join(directory, "node_modules", name), { recursive: true });
    writeFileSync(join(directory, "node_modules", name, "package.json"), JSON.stringify({ version }));
  }
  mkdirSync(join(directory, "node_modules"), { recursive: true });
  writeFileSync(join(directory, "node_modules/.package-lock.json"), JSON.stringify({ packages }));
  writeFileSync(join(directory, "package-lock.json"), JSON.stringify({ packages: { "": {}, ...packages } }));
  return directory;
}

test("what was locked and not installed, as after an interruption, is not taken for installed", () => {
  expect(isInstalled(makeInstalled(["a", "b"], ["a", "b"]))).toBe(true);
  expect(isInstalled(makeInstalled(["a", "b"], ["a"]))).toBe(false);
});

test("the version before, where the next was only locked, is not taken for it", () => {
  expect(isInstalled(makeInstalled(["a"], ["a"], "1.0.0"))).toBe(false);
});

test("a version whose native package npm has left out is named, not missed later", () => {
  const cli = findUpgradable("opencode");
  if (cli === undefined) throw new Error("opencode cannot be upgraded");
  const both = ["opencode-1.1.0", "opencode-1.1.0-baseline"];
  expect(() => assertInstalled(cli, "1.1.0", makeInstalled(both, both))).not.toThrow();
  expect(() => assertInstalled(cli, "1.1.0", makeInstalled(both, both.slice(0, 1)))).toThrow(
    "npm did not install opencode-linux-x64-baseline@1.1.0: the registry may not have it",
  );
});
