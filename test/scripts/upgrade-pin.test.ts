import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { addVersion, findUpgradable, VERSIONS } from "../../scripts/upgrade/candidate.ts";

const MANIFEST = readFileSync(join(VERSIONS, "package.json"), "utf8");

test.each([
  ["codex", "0.999.0", ['    "codex-0.999.0": "npm:@openai/codex@0.999.0-linux-x64",']],
  [
    "opencode",
    "0.999.0",
    [
      '    "opencode-0.999.0": "npm:opencode-linux-x64@0.999.0",',
      '    "opencode-0.999.0-baseline": "npm:opencode-linux-x64-baseline@0.999.0",',
    ],
  ],
])("a version of %s is added to the pins, and no other line changes", (name, version, added) => {
  const cli = findUpgradable(name);
  if (cli === undefined) throw new Error(`no CLI ${name}`);
  const text = addVersion(MANIFEST, cli, version);
  expect(text.split("\n").filter((line) => !MANIFEST.split("\n").includes(line))).toEqual(added);
  expect(
    text
      .split("\n")
      .filter((line) => !added.includes(line))
      .join("\n"),
  ).toBe(MANIFEST);
  expect(addVersion(text, cli, version)).toBe(text);
});
