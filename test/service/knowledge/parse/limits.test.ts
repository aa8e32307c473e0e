import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, test, vi } from "vitest";
import { ParseFailed } from "../../../../src/service/knowledge/parse/failures.ts";
import type { Parser } from "../../../../src/service/knowledge/parse/parser.ts";
import { DOCUMENTS, mustRead, parserOfTest, readDocument } from "./harness.ts";

/** Takes seconds to read, and much memory. */
const LONG = Buffer.from(`<body>${"<p>some words in a paragraph".repeat(200_000)}`);
const CHUNKING = { targetTokens: 400, maxTokens: 512, overlapTokens: 50, maxChunks: 20_000 };

async function code(parser: Parser, filename: string, bytes: Uint8Array, ocr: "auto" | "on" = "auto"): Promise<string> {
  const result = await readDocument(parser, filename, bytes, ocr);
  return result instanceof ParseFailed ? result.code : "read";
}

/** Processes that this one started and that run `child.ts`. */
async function children(): Promise<number[]> {
  const list = await readFile(`/proc/self/task/${process.pid}/children`, "utf8");
  const pids = list.split(" ").filter(Boolean).map(Number);
  const lines = await Promise.all(
    pids.map(async (pid) => [pid, await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")] as const),
  );
  return lines.filter(([, line]) => line.includes("child.ts")).map(([pid]) => pid);
}

test("what takes too long is killed, and the next file is read", async () => {
  const parser = await parserOfTest({ timeoutMs: 5_000 });
  expect(await code(parser, "a.html", LONG)).toBe("parser_timeout");
  expect((await mustRead(parser, "a.txt", "next")).markdown).toBe("next\n");
});

test("what takes too much memory is killed, and the next file is read", async () => {
  const parser = await parserOfTest({ memoryMegabytes: 160 });
  expect(await code(parser, "a.html", LONG)).toBe("parser_memory");
  expect((await mustRead(parser, "a.txt", "next")).markdown).toBe("next\n");
});

test("output and pages have limits", async () => {
  const parser = await parserOfTest({ outputBytes: 1_000, maxPages: 1 });
  expect(await code(parser, "a.txt", Buffer.alloc(2_000, "word "))).toBe("output_limit");
  expect(await code(parser, "a.pdf", await readFile(join(DOCUMENTS, "groff-two-columns.pdf")))).toBe("too_many_pages");
});

test("a child that is killed by another is a crash, of one file", async () => {
  const parser = await parserOfTest({ children: 1 });
  const reading = code(parser, "a.html", LONG);
  const [pid] = await vi.waitUntil(async () => ((await children()).length > 0 ? await children() : undefined), {
    timeout: 30_000,
  });
  process.kill(pid ?? 0, "SIGSEGV");
  expect(await reading).toBe("parser_crashed");
  expect((await mustRead(parser, "a.txt", "next")).markdown).toBe("next\n");
});

test("a cancelled file ends at once, and leaves no process", async () => {
  const parser = await parserOfTest();
  const stop = new AbortController();
  const reading = parser.parse(
    { source: Readable.from([LONG]), filename: "a.html", ocr: "auto", languages: [] },
    () => {},
    stop.signal,
  );
  await vi.waitUntil(async () => (await children()).length > 0, { timeout: 30_000 });
  const started = performance.now();
  stop.abort(new Error("not wanted any more"));
  await expect(reading).rejects.toThrow("not wanted any more");
  expect(performance.now() - started).toBeLessThan(2_000);
});

test("closing ends all children", async () => {
  const parser = await parserOfTest();
  await mustRead(parser, "a.txt", "hello");
  expect((await children()).length).toBeGreaterThan(0);
  await parser.close();
  expect(await children()).toEqual([]);
  await expect(mustRead(parser, "a.txt", "hello")).rejects.toThrow("closed");
});

test("without the optional programs the codes name what is missing", async () => {
  const parser = await parserOfTest({ ocr: "off", converter: "off" });
  const read = async (name: string): Promise<Buffer> => await readFile(join(DOCUMENTS, name));
  expect(await code(parser, "a.png", await read("scan.png"))).toBe("ocr_unavailable");
  expect(await code(parser, "a.pdf", await read("scan.pdf"))).toBe("no_text");
  expect(await code(parser, "a.pdf", await read("scan.pdf"), "on")).toBe("ocr_unavailable");
  expect(await code(parser, "a.doc", await read("libreoffice-report.doc"))).toBe("converter_unavailable");
  expect(parser.supportedTypes().find(({ extension }) => extension === "png")).toEqual({
    extension: "png",
    parser: "tesseract",
    isAvailable: false,
    needs: "tesseract",
  });
});

test("Markdown is cut in batches, only as they are asked for, and the child is free after an early end", async () => {
  const parser = await parserOfTest({ children: 1 });
  const text = Array.from({ length: 500 }, (_, index) => `# Part ${index}\n\n${"some words here. ".repeat(100)}`).join(
    "\n\n",
  );
  const signal = AbortSignal.timeout(120_000);
  const sizes: number[] = [];
  for await (const batch of parser.chunk(Readable.from([text]), CHUNKING, signal)) sizes.push(batch.length);
  expect(sizes.slice(0, -1).every((size) => size === 200)).toBe(true);
  for await (const batch of parser.chunk(Readable.from([text]), CHUNKING, signal)) {
    expect(batch[0]).toMatchObject({ heading: "Part 0", startLine: 1 });
    break;
  }
  const failing = async (markdown: string, maxChunks: number): Promise<unknown> => {
    for await (const batch of parser.chunk(Readable.from([markdown]), { ...CHUNKING, maxChunks }, signal)) void batch;
    return undefined;
  };
  await expect(failing(text, 10)).rejects.toMatchObject({ code: "too_many_chunks" });
  await expect(failing("\n", 10)).rejects.toMatchObject({ code: "no_chunks" });
  expect((await mustRead(parser, "a.txt", "next")).markdown).toBe("next\n");
});

test("a child sees nothing of this process's environment", async () => {
  const parser = await parserOfTest({ children: 1 });
  await mustRead(parser, "a.txt", "hello");
  const [pid] = await children();
  const environment = (await readFile(`/proc/${pid}/environ`, "utf8")).split("\0").filter(Boolean).toSorted();
  // The shell that sets the limits prints where it is.
  expect(environment.filter((entry) => !entry.startsWith("PWD="))).toEqual([
    "LANG=C.UTF-8",
    "PATH=/usr/local/bin:/usr/bin:/bin",
  ]);
  expect(await readFile(`/proc/${pid}/limits`, "utf8")).toMatch(/Max core file size +0 +0/);
  expect(await readdir(`/proc/${pid}/cwd`)).toEqual([]);
});
