import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Parser } from "../../../../src/service/knowledge/parse/parser.ts";
import { normalise } from "../../../../src/service/knowledge/parse/normalise.ts";
import { DOCUMENTS, mustRead, startParser } from "./harness.ts";

interface Facts {
  readonly fileType: string;
  readonly pages: number | null;
  readonly headings: readonly string[];
  readonly tables: readonly (readonly string[])[];
  readonly order: readonly string[];
  readonly text: readonly string[];
  readonly absent: readonly string[];
  readonly needs?: "ocr" | "converter";
}

const facts = JSON.parse(await readFile(join(DOCUMENTS, "facts.json"), "utf8")) as Record<string, Facts>;

let parser: Parser;
let end: () => Promise<void>;

beforeAll(async () => {
  ({ parser, end } = await startParser());
});
afterAll(async () => await end());

describe.each(Object.entries(facts))("%s", (name, expected) => {
  test("its headings, tables, pages and order come out", async ({ skip }) => {
    if (expected.needs !== undefined && parser.engines()[expected.needs] === null) {
      skip(`${name} is not tested: no ${expected.needs} here`);
    }
    const { markdown, ...read } = await mustRead(parser, name, await readFile(join(DOCUMENTS, name)));
    const lines = markdown.split("\n");
    expect({ fileType: read.fileType, pages: read.pages }).toEqual({
      fileType: expected.fileType,
      pages: expected.pages,
    });
    if (expected.headings.length > 0) {
      expect(lines.filter((line) => /^#+ /.test(line) && expected.headings.includes(line))).toEqual(expected.headings);
    }
    for (const table of expected.tables) {
      const at = lines.indexOf(table[0] ?? "");
      expect(lines[at + 1]).toMatch(/^\|( --- \|)+$/);
      expect([lines[at], ...lines.slice(at + 2, at + 1 + table.length)]).toEqual(table);
    }
    const places = expected.order.map((text) => markdown.indexOf(text));
    expect(expected.order.filter((_, index) => places[index] === -1)).toEqual([]);
    expect(places).toEqual(places.toSorted((one, two) => one - two));
    for (const text of expected.text) expect(markdown).toContain(text);
    for (const text of expected.absent) expect(markdown).not.toContain(text);
    if (expected.pages !== null) {
      expect(markdown.match(/^<!-- page \d+ -->$/gm)).toEqual(
        Array.from({ length: expected.pages }, (_, index) => `<!-- page ${index + 1} -->`),
      );
    }
    expect(normalise(markdown)).toBe(markdown);
    expect(read.lines).toBe(lines.length - 1);
  });
});
