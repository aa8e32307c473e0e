import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  chunkMarkdown,
  DEFAULT_CHUNKING,
  type Chunk,
  type Chunking,
} from "../../../../src/service/knowledge/indexing/chunk.ts";
import { estimateTokens } from "../../../../src/service/knowledge/indexing/cut-block.ts";

const SENTENCE = "The quick brown fox jumps over the lazy dog near the river bank. ";

function cut(markdown: string, chunking: Partial<Chunking> = {}): Chunk[] {
  return [...chunkMarkdown(markdown, { ...DEFAULT_CHUNKING, ...chunking })];
}

function paragraph(tokens: number): string {
  return SENTENCE.repeat(Math.ceil((tokens * 4) / SENTENCE.length)).trim();
}

test("a small text is one chunk", () => {
  expect(cut("# Title\n\nHello world.\n")).toEqual([
    {
      content: "# Title\n\nHello world.",
      heading: "Title",
      startLine: 1,
      endLine: 3,
      startChar: 0,
      endChar: 21,
      page: null,
      tokens: "titl titl hello world",
      tokenCount: 4,
      estimatedTokens: 6,
    },
  ]);
});

test("an empty text has no chunks", () => {
  expect(cut("")).toEqual([]);
  expect(cut("\n\n  \n")).toEqual([]);
});

test("a chunk has the path of the headings above it", () => {
  const chunks = cut(
    `# A\n\n${paragraph(200)}\n\n## B **bold**\n\n${paragraph(200)}\n\n### [C](x)\n\n${paragraph(200)}\n\n## D\n\n${paragraph(200)}`,
  );
  expect(chunks.map(({ heading }) => heading)).toEqual(["A", "A > B bold", "A > B bold > C", "A > D"]);
});

test("small sections share a chunk, and it has what their paths share", () => {
  const [chunk, ...rest] = cut("# A\n\nx\n\n## B\n\ny\n\n## C\n\nz");
  expect(rest).toEqual([]);
  expect(chunk?.heading).toBe("A");
});

test("a heading never ends a chunk", () => {
  const text = Array.from({ length: 30 }, (_, index) => `## Part ${index}\n\n${paragraph(40 + index * 17)}`).join(
    "\n\n",
  );
  for (const { content } of cut(text)) expect(content.split("\n").at(-1)).not.toMatch(/^#/);
});

test("a long paragraph is cut at sentences, with overlap", () => {
  const chunks = cut(paragraph(3_000));
  expect(chunks.length).toBeGreaterThan(5);
  for (const [index, { content, startChar }] of chunks.entries()) {
    expect(content).toMatch(/^The quick.*bank\.$/);
    const before = chunks[index - 1];
    if (before === undefined) continue;
    expect(startChar).toBeLessThan(before.endChar);
    expect(estimateTokens(before.content.slice(startChar - before.startChar))).toBeLessThanOrEqual(50);
  }
});

test("no overlap without asking, and none across headings", () => {
  for (const chunks of [
    cut(paragraph(3_000), { overlapTokens: 0 }),
    cut(`${paragraph(450)}\n\n# X\n\n${paragraph(450)}`),
  ]) {
    for (const [index, { startChar }] of chunks.entries()) {
      if (index > 0) expect(startChar).toBeGreaterThanOrEqual(chunks[index - 1]?.endChar ?? 0);
    }
  }
});

test("a Chinese paragraph is cut at its full stops", () => {
  const chunks = cut("北京是中华人民共和国的首都，历史悠久。".repeat(150));
  expect(chunks.length).toBeGreaterThan(3);
  for (const { content, estimatedTokens } of chunks) {
    expect(content).toMatch(/。$/);
    expect(estimatedTokens).toBeLessThanOrEqual(512);
  }
});

test("a table is cut between rows, and each part has the header", () => {
  const rows = Array.from({ length: 300 }, (_, index) => `| row ${index} | value ${index * 7} |`);
  const chunks = cut(["# T", "", "| name | value |", "| --- | --- |", ...rows].join("\n"));
  expect(chunks.length).toBeGreaterThan(3);
  for (const [index, { content, startLine }] of chunks.entries()) {
    expect(
      content
        .split("\n")
        .slice(index === 0 ? 2 : 0)
        .slice(0, 2),
    ).toEqual(["| name | value |", "| --- | --- |"]);
    if (index > 0) expect(content.split("\n")[2]).toBe(rows[startLine - 5]);
  }
});

test("a fence is cut at lines, and is not read for headings", () => {
  const code = Array.from({ length: 400 }, (_, index) => `# comment ${index}`);
  const chunks = cut(["# H", "", "```", ...code, "```"].join("\n"));
  expect(chunks.length).toBeGreaterThan(3);
  for (const { heading, content } of chunks) {
    expect(heading).toBe("H");
    for (const line of content.split("\n")) expect(line).toMatch(/^(# H|```|# comment \d+|)$/);
  }
});

test("pages are known, and their marks are no words", () => {
  const chunks = cut(`<!-- page 1 -->\n\n${paragraph(380)}\n\n<!-- page 2 -->\n\n${paragraph(380)}`);
  expect(chunks.map(({ page }) => page)).toEqual([1, 2]);
  expect(chunks[1]?.content).toMatch(/^<!-- page 2 -->/);
  for (const { tokens } of chunks) expect(tokens).not.toMatch(/page/);
});

test("underlined headings are headings", () => {
  expect(
    cut(`Title\n=====\n\n${paragraph(300)}\n\nSub\n---\n\n${paragraph(300)}`).map(({ heading }) => heading),
  ).toEqual(["Title", "Title > Sub"]);
});

test("pieces of one block that go together count the line end between them", () => {
  const settings = { targetTokens: 100, maxTokens: 150, overlapTokens: 0 };
  const chunks = [...chunkMarkdown(`\`\`\`\n${"x".repeat(597)}`, settings)];
  expect(chunks.map(({ content }) => estimateTokens(content))).toEqual([0.75, 149.25]);
});

test("a blank line of a fence that is cut is no chunk of its own", () => {
  const settings = { targetTokens: 100, maxTokens: 147, overlapTokens: 0 };
  const chunks = [...chunkMarkdown(`\`\`\`\n${"x ".repeat(294)}\n\u3000`, settings)];
  expect(chunks.map(({ content }) => content.trim())).not.toContain("");
});

describe("for every text", () => {
  const line = fc.oneof(
    fc.constantFrom(
      "",
      "# A",
      "## B",
      "###### C",
      "```",
      "| a | b |",
      "| --- | --- |",
      "| 1 | 2 |",
      "- item",
      "1. one",
    ),
    fc.constantFrom("<!-- page 7 -->", "---", "> quote", "    code", "   ", "===", "~~~", "\u3000", "漢字".repeat(40)),
    fc.string({ unit: "grapheme", maxLength: 60 }),
    fc.integer({ min: 1, max: 3_000 }).map((length) => "x".repeat(length)),
    fc.integer({ min: 1, max: 900 }).map((length) => "𠀀".repeat(length)),
    fc.integer({ min: 1, max: 60 }).map((count) => SENTENCE.repeat(count)),
    fc.integer({ min: 1, max: 60 }).map((count) => `| ${SENTENCE.repeat(count)} | b |`),
  );
  const markdown = fc.array(line, { maxLength: 60 }).map((lines) => lines.join("\n"));
  const chunking = fc
    .record({
      targetTokens: fc.integer({ min: 100, max: 600 }),
      over: fc.integer({ min: 0, max: 200 }),
      share: fc.double({ min: 0, max: 0.45, noNaN: true }),
    })
    .map(({ targetTokens, over, share }) => ({
      targetTokens,
      maxTokens: targetTokens + over,
      overlapTokens: Math.floor(targetTokens * share),
    }));

  test("lines and characters are those of the text, every line is covered, and no chunk is too large", () => {
    fc.assert(
      fc.property(markdown, chunking, (text, settings) => {
        const chunks = [...chunkMarkdown(text, settings)];
        const lines = text.split("\n");
        const covered = new Set<number>();
        let reached = 0;
        for (const chunk of chunks) {
          const slice = text.slice(chunk.startChar, chunk.endChar);
          expect(chunk.content.endsWith(slice)).toBe(true);
          expect(slice.trim()).not.toBe("");
          expect(slice.isWellFormed() || !text.isWellFormed()).toBe(true);
          if (chunk.content !== slice) expect(text).toContain(chunk.content.slice(0, -slice.length));
          expect(lines.slice(0, chunk.startLine - 1).join("\n").length).toBeLessThanOrEqual(chunk.startChar);
          expect(lines.slice(chunk.startLine - 1, chunk.endLine).join("\n")).toContain(slice);
          expect(slice.split("\n")).toHaveLength(chunk.endLine - chunk.startLine + 1);
          expect(estimateTokens(chunk.content)).toBeLessThanOrEqual(settings.maxTokens + 1e-6);
          for (let index = chunk.startLine; index <= chunk.endLine; index += 1) covered.add(index);
          // In order, and nothing but blanks left out.
          if (chunk.startChar > reached) expect(text.slice(reached, chunk.startChar).trim()).toBe("");
          expect(chunk.endChar).toBeGreaterThan(reached);
          reached = chunk.endChar;
        }
        expect(text.slice(reached).trim()).toBe("");
        for (const [index, content] of lines.entries()) if (content.trim() !== "") expect(covered).toContain(index + 1);
      }),
      { numRuns: 150 },
    );
  });
});
