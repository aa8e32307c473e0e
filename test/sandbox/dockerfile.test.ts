import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY } from "../harness/temporary.ts";

const read = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");

/** A script, and those that it imports. */
function withImports(path: string, found = new Set<string>()): string[] {
  if (found.has(path)) return [];
  found.add(path);
  const imports = read(path).matchAll(/^import .* from "(\.[^"]+)";$/gm);
  for (const [, target = ""] of imports)
    withImports(relative(REPOSITORY, join(REPOSITORY, dirname(path), target)), found);
  return [...found];
}

test("the image's build is given every script that bundles turnd, and no other", () => {
  const needed = withImports("scripts/bundle.ts").toSorted();
  expect(needed.length).toBeGreaterThan(2);
  const copied = read("Dockerfile.sandbox").match(/scripts\/[\w-]+\.ts/g) ?? [];
  expect([...new Set(copied)].toSorted()).toEqual(needed);
  const given = [...read(".dockerignore").matchAll(/^!(scripts\/.*)$/gm)].map(([, path = ""]) => path);
  expect(given.toSorted()).toEqual(needed);
});
