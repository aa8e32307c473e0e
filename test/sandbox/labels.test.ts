import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { VERSION } from "../../src/turnd/daemon/version.ts";
import { REPOSITORY } from "../harness/temporary.ts";

const read = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");

/** The last LABEL of a Dockerfile, as the engine reads it. */
function labelsOf(dockerfile: string): Record<string, string> {
  const [, text = ""] = /^LABEL ((?:[^\n]*\\\n)*[^\n]*)$/m.exec(dockerfile) ?? [];
  return Object.fromEntries(
    [...text.matchAll(/([\w.]+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]),
  );
}

test.each([
  ["Dockerfile.sandbox", "turnd sandbox", "/opt/turnd/"],
  ["Dockerfile.service", "svc", "./"],
])("the image of %s has name, version, licence and changelog", (path, title, target) => {
  const dockerfile = read(path);
  const { license } = z.object({ license: z.string() }).parse(JSON.parse(read("package.json")));
  expect(labelsOf(dockerfile)).toEqual({
    "org.opencontainers.image.title": title,
    "org.opencontainers.image.version": VERSION,
    "org.opencontainers.image.licenses": license,
    "org.opencontainers.image.description": expect.stringMatching(/^[A-Z].*\.$/),
  });
  const copied = dockerfile.match(/^COPY (?!--from)(.*LICENSE.*)$/m)?.[1]?.split(" ") ?? [];
  expect(copied).toEqual(expect.arrayContaining(["LICENSE", "CHANGELOG.md"]));
  expect(copied.at(-1)).toBe(target);
});

test("what the Dockerfiles copy of the repository is given to the builds", () => {
  const given = read(".dockerignore").match(/(?<=^!).*/gm) ?? [];
  const copied = ["Dockerfile.sandbox", "Dockerfile.service"].flatMap((path) =>
    [...read(path).matchAll(/^COPY (?!--)(.*) \S+$/gm)].flatMap(([, sources = ""]) => sources.split(" ")),
  );
  expect(copied.length).toBeGreaterThan(10);
  const isGiven = (source: string): boolean => given.some((name) => source === name || source.startsWith(`${name}/`));
  expect(copied.filter((source) => !isGiven(source))).toEqual([]);
});

test("the changelog has a part for this version, and one for what is not yet released", () => {
  const headings = read("CHANGELOG.md").match(/(?<=^## ).*/gm) ?? [];
  expect(headings[0]).toBe("Unreleased");
  expect(headings.find((heading) => heading.startsWith(`${VERSION} - `))).toMatch(/ \d{4}-\d\d-\d\d$/);
});

test("docs/building-images.md shows the Dockerfile that is built", () => {
  const [, shown] = /```dockerfile\n(.*?)```/s.exec(read("docs/building-images.md")) ?? [];
  const example = read("examples/image/Dockerfile");
  expect(shown).toBe(example.slice(example.indexOf("\n") + 1));
});
