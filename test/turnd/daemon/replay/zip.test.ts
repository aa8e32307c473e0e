import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect, onTestFinished, test, vi } from "vitest";
import { ZipFile } from "yazl";
import { extractZip } from "../../../../src/turnd/daemon/replay/extract-zip.ts";
import { REPOSITORY, temporaryDirectory } from "../../../harness/temporary.ts";
import { replayNamed } from "./replay-named.ts";

const CLI_B = join(REPOSITORY, "fixtures/cli-b/0.139.0/rate-limited");
const LINK = 0o120_777;

interface ZippedFile {
  readonly name: string;
  readonly content: Buffer;
  readonly mode?: number;
}

async function zipOf(files: readonly ZippedFile[]): Promise<Buffer> {
  const archive = new ZipFile();
  for (const { name, content, mode = 0o100_644 } of files) archive.addBuffer(content, name, { mode });
  archive.end();
  // Its types call the stream one of the old kind.
  return buffer(archive.outputStream as NodeJS.ReadableStream & AsyncIterable<Buffer>);
}

const recording = readdirSync(CLI_B).map((name) => ({
  name: `mailed/${name}`,
  content: readFileSync(join(CLI_B, name)),
}));

test("a zip archive of recordings is read as the directory that was packed, also from standard input", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const file = join(directory, "mailed.zip");
  const archive = await zipOf([...recording, { name: "mailed/link", content: Buffer.from("/etc/passwd"), mode: LINK }]);
  writeFileSync(file, archive);
  // Of this test's own: others replay at the same time.
  vi.stubEnv("TMPDIR", mkdtempSync(join(directory, "tmp-")));
  onTestFinished(() => void vi.unstubAllEnvs());
  const options = { show: "summary", isJson: true } as const;
  const packed = await replayNamed([file], options);
  expect([packed.code, packed.stderr]).toEqual([0, ""]);
  const [one, ...others] = packed.document.recordings;
  expect(others).toEqual([]);
  const plain = (await replayNamed([CLI_B], options)).document.recordings[0];
  expect([one?.ended.status, one?.ended.failure]).toEqual(["failed", plain?.ended.failure]);
  expect(one?.ended.counts).toEqual(plain?.ended.counts);
  expect((await replayNamed(["-"], { ...options, input: [archive] })).document.recordings).toHaveLength(1);
  expect(readdirSync(tmpdir())).toEqual([]);
});

/** The same archive with another name of the same length in both of its places. */
function renamed(archive: Buffer, from: string, to: string): Buffer {
  return Buffer.from(archive.toString("latin1").replaceAll(from, to), "latin1");
}

test("what leads out of a zip archive, stands there twice, is encrypted, or is too much, is refused", async () => {
  const content = Buffer.alloc(100_000, "a");
  const honest = await zipOf([
    { name: "aa/evil", content },
    { name: "bb/evil", content },
  ]);
  const encrypted = Buffer.from(honest);
  // Bit 0 of the flags of the first entry in the table of contents. Source: APPNOTE 4.3.12, 4.4.4.
  const entry = encrypted.indexOf("PK\u0001\u0002", 0, "latin1") + 8;
  encrypted.writeUInt16LE(encrypted.readUInt16LE(entry) | 1, entry);
  for (const [archive, maxBytes, reason] of [
    [renamed(honest, "aa/evil", "../evil"), 1e9, "../evil"],
    [renamed(honest, "aa/evil", "bb/evil"), 1e9, "file already exists"],
    [encrypted, 1e9, "is encrypted"],
    [honest, 150_000, "holds more than 150000 bytes"],
    [honest.subarray(0, honest.length / 2), 1e9, "is a broken zip archive"],
  ] as const) {
    const outer = temporaryDirectory(onTestFinished);
    const directory = join(outer, "in");
    mkdirSync(directory);
    writeFileSync(join(outer, "archive"), archive);
    const extracting = extractZip(join(outer, "archive"), { name: "mailed.zip", directory, maxBytes });
    await expect(extracting).rejects.toThrow(reason);
    await expect(extracting).rejects.toMatchObject({ name: "RecordingError" });
    expect(readdirSync(outer).toSorted()).toEqual(["archive", "in"]);
  }
});
