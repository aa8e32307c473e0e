import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { PassThrough, Readable } from "node:stream";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { createRedactor } from "../../../../src/turnd/daemon/event-log/redact.ts";
import { bytesOf, readPieces } from "../../../../src/turnd/daemon/replay/pieces.ts";
import { openRecording } from "../../../../src/turnd/daemon/replay/recording.ts";
import { openSource } from "./open-source.ts";
import { unpackDocument } from "../../../../src/turnd/daemon/replay/unpack.ts";
import { RecordingDocument, type RecordedPiece } from "../../../../src/turnd/protocol/index.ts";
import { listRecordings, oneOfEachEnd } from "../executors/recordings.ts";
import { exportText } from "../../../harness/recordings.ts";
import { REPOSITORY, temporaryDirectory } from "../../../harness/temporary.ts";
import { replayLines } from "./replay-lines.ts";

const FIXTURES = ["cli-a", "cli-b"].flatMap((executor) => listRecordings(join(REPOSITORY, "fixtures"), executor));
const MINIMAL = { v: 1, turn: { executor: "cli-b" }, exit: null, stdout: [], stderr: [] };

async function* inChunks(text: string, borders: readonly number[]): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  const cuts = [0, ...borders.map((at) => at % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  for (const [index, end] of cuts.slice(1).entries()) yield bytes.subarray(cuts[index], end);
}

/** Unpacks a text into a directory of the given name. */
async function unpack(text: string, { name = "document", cuts = [] as readonly number[] } = {}): Promise<string> {
  const directory = join(mkdtempSync(join(temporaryDirectory(onTestFinished), "unpacked-")), name);
  mkdirSync(directory);
  await unpackDocument(inChunks(text, cuts), { name: "the document", directory });
  return directory;
}

function directoryWith(files: Readonly<Record<string, string | Buffer>>): string {
  const directory = mkdtempSync(join(temporaryDirectory(onTestFinished), "recording-"));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
  return directory;
}

const CUTS = fc.sample(fc.array(fc.nat(2_000_000), { maxLength: 20 }), { numRuns: FIXTURES.length, seed: 4 });

/** All that a replay knows of a recording: its files, and what its small files say. */
async function readWhole(directory: string): Promise<unknown> {
  const { turn, exit, isExitUnrecorded, timeline, stdoutPath, stderrPath } = await openRecording(directory);
  const entries: unknown[] = [];
  for await (const entry of timeline?.() ?? []) entries.push(entry);
  return { turn, exit, isExitUnrecorded, entries, stdout: readFileSync(stdoutPath), stderr: readFileSync(stderrPath) };
}

test.each([...Map.groupBy([...FIXTURES.entries()], ([, { name }]) => name.slice(0, name.lastIndexOf("/")))])(
  "the document of each fixture of %s is the recording, byte for byte, however it is cut and laid out",
  async (_version, fixtures) => {
    for (const [index, { directory, name }] of fixtures) {
      const text = await exportText(directory);
      const document = RecordingDocument.parse(JSON.parse(text));
      const layouts = [text, JSON.stringify(document), JSON.stringify(document, null, 2)];
      const unpacked = await unpack(layouts[index % 3] ?? "", { cuts: CUTS[index] ?? [] });
      expect([name, await readWhole(unpacked)]).toEqual([name, await readWhole(directory)]);
    }
  },
);

test.each(oneOfEachEnd(FIXTURES).filter((_, index) => index % 3 === 0))(
  "the document of $name gives its events, in the order of the recording or not",
  async ({ directory }) => {
    const name = directory.split("/").at(-1) ?? "";
    const unpacked = await unpack(await exportText(directory), { name });
    for (const keepsOrder of [true, false]) {
      expect((await replayLines(unpacked, { keepsOrder })).text).toBe(
        (await replayLines(directory, { keepsOrder })).text,
      );
    }
  },
);

test("whatever bytes a CLI printed are kept, line by line where they are text", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.string({ unit: "binary" }).map(Buffer.from)), {
        maxLength: 12,
      }),
      async (parts) => {
        const bytes = Buffer.concat(parts.flatMap((part) => [Buffer.from(part), Buffer.from("\n")]));
        const directory = directoryWith({ "turn.json": '{"executor":"cli-b"}', "stdout.jsonl": bytes });
        const unpacked = await unpack(await exportText(directory));
        expect(readFileSync(join(unpacked, "stdout.jsonl")).equals(bytes)).toBe(true);
      },
    ),
    { numRuns: 100 },
  );
});

test("a line of 5 MB comes in pieces, none of them large, and no secret is cut in two", async () => {
  const secret = "SECRET-é-0123456789";
  const line = `{"text":"${`${secret}·`.repeat(200_000)}"}`;
  const path = join(directoryWith({ "stdout.jsonl": `${line}\nend` }), "stdout.jsonl");
  const pieces: RecordedPiece[] = [];
  for await (const piece of readPieces(path, createRedactor([secret]))) pieces.push(piece);
  const text = Buffer.concat(pieces.map(bytesOf)).toString("utf8");
  expect(text).toBe(`{"text":"${"[redacted]·".repeat(200_000)}"}\nend`);
  expect(pieces.length).toBeGreaterThan(4);
  expect(Math.max(...pieces.map((piece) => bytesOf(piece).length))).toBeLessThan(1_100_000);
});

test("secrets are taken out of every part, and lines keep their numbers", async () => {
  const secret = "FAKE-SENTINEL-KEY";
  const directory = directoryWith({
    "turn.json": JSON.stringify({ executor: "cli-b", args: ["-c", `key=${secret}`], note: secret, model: secret }),
    "exit.json": '{"code":0,"signal":null}',
    "prompt.txt": `my key is ${secret}`,
    "stdout.jsonl": `{"a":"${secret}"}\n\nplain ${secret}\n`,
    "stderr.log": Buffer.concat([Buffer.from(`${secret} `), Buffer.from([0xff, 0x0a]), Buffer.from("second\n")]),
    "events.jsonl": `{"v":1,"seq":1,"at":"2026-01-01T00:00:00.000Z","turn_id":"t","session_id":"s","executor":"cli-b","type":"warning","data":{"code":"x","message":"${secret}"}}\n`,
  });
  const text = await exportText(directory, createRedactor([secret]));
  expect(text).not.toContain(secret);
  const document = RecordingDocument.parse(JSON.parse(text));
  expect(document.stdout).toEqual(['{"a":"[redacted]"}\n', "\n", "plain [redacted]\n"]);
  // With a secret in it, a line that is not UTF-8 is shown as in its events.
  expect(document.stderr).toEqual(["[redacted] \ufffd\n", "second\n"]);
  expect(document.input).toBe("my key is [redacted]");
});

test("a document cut off anywhere is refused, and the message names after what", async () => {
  const fixture = FIXTURES.find(({ name }) => name === "cli-b/0.139.0/rate-limited");
  const text = (await exportText(fixture?.directory ?? "")).trimEnd();
  const messages = new Set<string>();
  for (let length = 0; length < text.length; length += 3) {
    const message = await unpack(text.slice(0, length)).then(
      () => "taken for whole",
      (error: Error) => `${error.name}: ${error.message}`,
    );
    messages.add(message.replace(/\.\d+$/, ".n"));
  }
  const places = [
    "its beginning",
    "v",
    "turn",
    "exit",
    "stdout",
    "stdout.n",
    "stderr",
    "stderr.n",
    "timeline",
    "timeline.n",
  ];
  const reasons = ["is no JSON object", ...places.map((place) => `is cut off: it ends after ${place}`)];
  expect(messages).toEqual(new Set(reasons.map((reason) => `RecordingError: the document: ${reason}`)));
});

test.each([
  ["no object", "[]", "is no JSON object"],
  ["nothing", "", "is no JSON object"],
  ["an empty object", "{}", "is no recording: it has no v, no turn, no exit, no stdout, no stderr"],
  ["a newer version", '{"v":2,"more":1}', "v: is 2, written by a newer turnd; this one reads 1"],
  ["an unknown field", JSON.stringify({ ...MINIMAL, more: 1 }), 'has an unknown field "more"'],
  ["a field twice", `{"v":1,${JSON.stringify(MINIMAL).slice(1)}`, "has v twice"],
  ["a list twice", `{"stdout":[],${JSON.stringify(MINIMAL).slice(1)}`, "has stdout twice"],
  ["a string for a list", JSON.stringify({ ...MINIMAL, stdout: "x" }), "stdout: is no array"],
  ["a list that is full of holes", '{"v":1,"stdout":["a",,"b"]}', "is not JSON at stdout.1"],
  ["a trailing comma", '{"v":1,"stdout":["a",]}', "is not JSON at stdout.1"],
  ["two values in a row", '{"v":1,"stdout":[] []}', "is not JSON at stdout"],
  ["a list closed like an object", '{"v":1,"stdout":[}', "is not JSON at stdout"],
  ["a wrong piece", JSON.stringify({ ...MINIMAL, stdout: ["ok", 3] }), "stdout.1: Invalid input"],
  ["base64 that is none", JSON.stringify({ ...MINIMAL, stderr: [{ base64: "?" }] }), "stderr.0.base64: "],
  ["half a surrogate pair", '{"v":1,"stdout":["\\ud800"]}', "stdout.0: must not hold half of a surrogate pair"],
  ["an executor that is no id", JSON.stringify({ ...MINIMAL, turn: { executor: "CLI C" } }), "turn.executor: "],
  [
    "a line 0",
    JSON.stringify({ ...MINIMAL, timeline: [{ type: "line", at: "2026-01-01T00:00:00Z", line: 0 }] }),
    "timeline.0.line: ",
  ],
  ["more after the end", `${JSON.stringify(MINIMAL)}{}`, "goes on after its end"],
  ["text after the end", `${JSON.stringify(MINIMAL)} x`, "goes on after its end"],
])("a document with %s is refused by name", async (_, text, reason) => {
  await expect(unpack(text)).rejects.toThrow(`the document: ${reason}`);
});

test("deep nesting, duplicate and odd keys, numbers beyond 2^53 stay text in their lines", async () => {
  const lines = [
    `${"[".repeat(10_000)}${"]".repeat(10_000)}`,
    '{"a":1,"a":2,"__proto__":{"polluted":true},"n":9007199254740993}',
    "\u001b[31mred\u0000\r",
  ];
  const directory = await unpack(JSON.stringify({ ...MINIMAL, stdout: [lines.join("\n")] }));
  expect(readFileSync(join(directory, "stdout.jsonl"), "utf8")).toBe(lines.join("\n"));
  const { ended } = await replayLines(directory);
  expect(ended.counts).toMatchObject({ records: 3, unknown: 3 });
  expect(Object.prototype).not.toHaveProperty("polluted");
});

test("a document is read from a file or standard input, gzipped or not, whatever it is called", async () => {
  const directory = FIXTURES[0]?.directory ?? "";
  const text = await exportText(directory);
  const base = directoryWith({ "plain.json": text, "zipped.json": gzipSync(text), odd: gzipSync(text) });
  const expected = readFileSync(join(directory, "stdout.jsonl"), "utf8");
  const sources = ["plain.json", "zipped.json", "odd"].map((name) => [join(base, name), new PassThrough()] as const);
  for (const [name, stdin] of [
    ...sources,
    ["-", Readable.from([gzipSync(text)])],
    ["-", Readable.from([text])],
  ] as const) {
    const { recording, close } = await openSource(name, stdin);
    expect(readFileSync(recording.stdoutPath, "utf8")).toBe(expected);
    await close();
    expect(() => readFileSync(recording.stdoutPath)).toThrow("ENOENT");
  }
});

test("a gzip file that is truncated or broken, or a name that is none, is refused as that", async () => {
  const zipped = gzipSync(await exportText(FIXTURES[0]?.directory ?? ""));
  const broken = Buffer.from(zipped);
  broken.fill(0xff, 20, 60);
  const base = directoryWith({ short: zipped.subarray(0, -20), broken, "turn.json": '{"v":2,"executor":"cli-b"}' });
  const stdin = new PassThrough();
  await expect(openSource(join(base, "short"), stdin)).rejects.toThrow("short: is a truncated gzip file");
  await expect(openSource(join(base, "broken"), stdin)).rejects.toThrow("broken: is a broken gzip file");
  await expect(openSource(join(base, "none"), stdin)).rejects.toThrow("ENOENT");
  await expect(openSource(base, stdin)).rejects.toThrow("turn.json: v: is 2, written by a newer turnd");
  await expect(openSource(directoryWith({}), stdin)).rejects.toThrow(
    "holds no recording: no turn.json, no stdout.jsonl, no document",
  );
});

test("a directory without exit.json is replayed with its exit unknown", async () => {
  const { directory } = FIXTURES.find(({ name }) => name === "cli-b/0.139.0/rate-limited") ?? {};
  const stdout = readFileSync(join(directory ?? "", "stdout.jsonl"));
  const copy = directoryWith({ "turn.json": '{"executor":"cli-b"}', "stdout.jsonl": stdout });
  const { ended } = await replayLines(copy);
  expect(ended).toMatchObject({ status: "failed" });
  expect(ended).not.toHaveProperty("exit");
});
