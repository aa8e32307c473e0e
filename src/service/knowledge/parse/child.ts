// The program that reads documents. It has no environment and no access to the service; the parent process kills it.
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { chunkMarkdown } from "../indexing/chunk.ts";
import { explainError } from "./explain.ts";
import { ParseFailed } from "./failures.ts";
import { createFrameWriter } from "./frames.ts";
import { ChildRequest, ChildSettings, INPUT_FILE, type ChildMessage } from "./messages.ts";
import { createNormaliser } from "./normalise.ts";
import { parseOriginal } from "./parse-original.ts";

const ANSWERS = 3;
const SCRATCH = "scratch";
const BATCH = 200;
const MAX_WARNINGS = 50;
const WARNING_LENGTH = 300;
const PROGRESS_MS = 100;
const PAGE_MARK = /^<!-- page \d+ -->$/gm;

const settings = ChildSettings.parse(JSON.parse(process.argv[2] ?? ""));
const frames = createFrameWriter(ANSWERS);
const send = (message: ChildMessage): void => frames.message(message);

/** What a document turned out to be. */
type Result = Omit<Extract<ChildMessage, { type: "done" }>, "type" | "cpuMs">;

async function parse(request: Extract<ChildRequest, { type: "parse" }>): Promise<Result> {
  const warnings = new Set<string>();
  let sentAt = 0;
  mkdirSync(SCRATCH);
  const { markdown, fileType, parser } = await parseOriginal({
    bytes: readFileSync(INPUT_FILE),
    filename: request.filename,
    ocr: request.ocr,
    languages: request.languages,
    ...settings,
    scratch: `${process.cwd()}/${SCRATCH}`,
    onProgress(progress) {
      if (Date.now() - sentAt < PROGRESS_MS) return;
      sentAt = Date.now();
      send({ type: "progress", ...progress });
    },
    warn(text) {
      if (warnings.size < MAX_WARNINGS) warnings.add(text.slice(0, WARNING_LENGTH).toWellFormed());
    },
  });
  const out = createMarkdownOutput();
  const normaliser = createNormaliser();
  for await (const piece of markdown.text) out.write(normaliser.push(piece));
  out.write(normaliser.end());
  if (!out.hasText()) throw new ParseFailed("empty_document", "the document has no text");
  return { lines: out.lines(), pages: markdown.pages(), parser, fileType, warnings: [...warnings] };
}

/** Sends Markdown on, counted. */
function createMarkdownOutput(): { write(text: string): void; lines(): number; hasText(): boolean } {
  let bytes = 0;
  let lines = 0;
  let hasText = false;
  return {
    write(text) {
      if (text === "") return;
      const encoded = Buffer.from(text);
      bytes += encoded.length;
      if (bytes > settings.outputBytes) {
        throw new ParseFailed("output_limit", `more than ${settings.outputBytes} bytes of Markdown`);
      }
      for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
      hasText ||= /[^\s\p{C}]/u.test(text.replace(PAGE_MARK, ""));
      for (let at = 0; at < encoded.length; at += 65_536) frames.markdown(encoded.subarray(at, at + 65_536));
    },
    lines: () => lines,
    hasText: () => hasText,
  };
}

function chunk({ maxChunks, ...chunking }: Extract<ChildRequest, { type: "chunk" }>): Result {
  const markdown = readFileSync(INPUT_FILE, "utf8");
  let count = 0;
  let batch = [];
  for (const made of chunkMarkdown(markdown, chunking)) {
    count += 1;
    if (count > maxChunks) throw new ParseFailed("too_many_chunks", `more than ${maxChunks} chunks`);
    batch.push(made);
    if (batch.length < BATCH) continue;
    send({ type: "chunks", chunks: batch });
    batch = [];
  }
  if (count === 0) throw new ParseFailed("no_chunks", "the Markdown has no text");
  if (batch.length > 0) send({ type: "chunks", chunks: batch });
  return { lines: 0, pages: null, parser: "", fileType: "", warnings: [] };
}

send({ type: "ready" });
for await (const line of createInterface({ input: process.stdin })) {
  const request = ChildRequest.parse(JSON.parse(line));
  try {
    const result = request.type === "parse" ? await parse(request) : chunk(request);
    const { user, system } = process.cpuUsage();
    send({ type: "done", ...result, cpuMs: Math.ceil((user + system) / 1_000) });
  } catch (error) {
    const { code, message } = explainError(error);
    send({ type: "failed", code, message });
  }
  rmSync(SCRATCH, { recursive: true, force: true });
}
