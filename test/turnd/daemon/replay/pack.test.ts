import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { gunzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { createRedactor } from "../../../../src/turnd/daemon/event-log/redact.ts";
import { packRecording, unpackRecording } from "../../../../src/turnd/commands/pack.ts";
import { RecordingDocument } from "../../../../src/turnd/protocol/index.ts";
import { REPOSITORY, temporaryDirectory } from "../../../harness/temporary.ts";
import { replayLines } from "./replay-lines.ts";

const FIXTURE = join(REPOSITORY, "fixtures/cli-b/0.139.0/shell-succeeds");
const { signal } = new AbortController();

const pack = (directory: string, to: string, redact = (text: string): string => text): Promise<void> =>
  packRecording(directory, to, { redact, out: new PassThrough(), signal });
const unpack = (from: string, to: string): Promise<void> =>
  unpackRecording(from, to, { stdin: Readable.from([]), signal });

test("a recording that is packed, unpacked and packed again is the same document, and gives the same events", async () => {
  const base = temporaryDirectory(onTestFinished);
  for (const [name, read] of [
    ["a.json", readFileSync],
    ["a.json.gz", (path: string) => gunzipSync(readFileSync(path))],
  ] as const) {
    const document = join(base, name);
    await pack(FIXTURE, document);
    RecordingDocument.parse(JSON.parse(String(read(document))));
    const directory = join(base, `${name}.d`, "shell-succeeds");
    await unpack(document, directory);
    await pack(directory, join(base, `again-${name}`));
    expect(String(read(join(base, `again-${name}`)))).toBe(String(read(document)));
    expect((await replayLines(directory)).text).toBe((await replayLines(FIXTURE)).text);
  }
});

test("a packed recording holds no secret, and what is there already is not written over", async () => {
  const base = temporaryDirectory(onTestFinished);
  const document = join(base, "a.json");
  await pack(FIXTURE, document, createRedactor(["thread.started"]));
  expect(readFileSync(document, "utf8")).not.toContain("thread.started");
  await expect(pack(FIXTURE, document)).rejects.toThrow("a.json: is there already");
  await expect(unpack(document, base)).rejects.toThrow("is not empty");
  expect(readdirSync(base)).toEqual(["a.json"]);
  await expect(pack(base, join(base, "b.json"))).rejects.toThrow("is no recording: it has no turn.json");
  expect(readdirSync(base)).toEqual(["a.json"]);
});

test("a document that is cut off, or none, leaves no directory", async () => {
  const base = temporaryDirectory(onTestFinished);
  const [whole, cut, lines] = ["whole.json", "cut.json", "lines.jsonl"].map((name) => join(base, name));
  await pack(FIXTURE, whole ?? "");
  writeFileSync(cut ?? "", readFileSync(whole ?? "", "utf8").slice(0, -300));
  writeFileSync(lines ?? "", readFileSync(join(FIXTURE, "stdout.jsonl")));
  await expect(unpack(cut ?? "", join(base, "new"))).rejects.toThrow("is cut off: it ends after");
  await expect(unpack(lines ?? "", join(base, "new"))).rejects.toThrow("is no document of a recording");
  await expect(unpack(FIXTURE, join(base, "new"))).rejects.toThrow("is a directory, not a document");
  expect(existsSync(join(base, "new"))).toBe(false);
});
