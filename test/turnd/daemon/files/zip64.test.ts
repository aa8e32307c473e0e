import { buffer } from "node:stream/consumers";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { ZipFile } from "yazl";
import { zipTree } from "../../../../src/turnd/daemon/files/zip.ts";

const GIB = 1024 ** 3;

/** What yazl keeps of an entry, as far as headers are made from it. */
interface Entry {
  crc32: number;
  compressedSize: number;
  uncompressedSize: number;
  relativeOffsetOfLocalHeader: number;
  getDataDescriptor(): Buffer;
  getCentralDirectoryRecord(): Buffer;
}

/** An entry as `zipTree` adds them: a stream whose size is unknown before its end. */
function entryOf(sizes: Partial<Entry>): Entry {
  const zip = new ZipFile();
  zip.addReadStream(new PassThrough(), "name", { mtime: new Date("2026-01-01T00:00:00Z"), mode: 0o100_644 });
  const entries: Entry[] = Reflect.get(zip, "entries");
  const [entry] = entries;
  if (entry === undefined) throw new Error("yazl has no entries");
  return Object.assign(entry, {
    crc32: 1,
    compressedSize: 1,
    uncompressedSize: 1,
    relativeOffsetOfLocalHeader: 1,
    ...sizes,
  });
}

/** Size, compressed size and offset by the extra field of zip64; undefined where there is none. */
function readZip64(record: Buffer): number[] | undefined {
  const at = 46 + record.readUInt16LE(28);
  const extra = record.subarray(at, at + record.readUInt16LE(30));
  for (let from = 0; from < extra.length; from += 4 + extra.readUInt16LE(from + 2)) {
    if (extra.readUInt16LE(from) !== 1) continue;
    return [4, 12, 20].map((offset) => Number(extra.readBigUInt64LE(from + offset)));
  }
  return undefined;
}

test.each([
  ["a file of 5 GiB", { uncompressedSize: 5 * GIB, compressedSize: 5_000_000 }],
  ["a file that does not get smaller", { uncompressedSize: 5 * GIB, compressedSize: 5 * GIB + 1_000 }],
  ["the first size that four bytes cannot say", { uncompressedSize: 0xffff_ffff, compressedSize: 7 }],
  ["a small file behind 5 GiB of others", { relativeOffsetOfLocalHeader: 5 * GIB }],
])("%s has its sizes and place in eight bytes", (_name, sizes) => {
  const entry = entryOf(sizes);
  const record = entry.getCentralDirectoryRecord();
  // Version 4.5 is what reads zip64; the four-byte fields refer to the other one.
  expect([record.readUInt16LE(6), record.readUInt32LE(20), record.readUInt32LE(24), record.readUInt32LE(42)]).toEqual([
    45, 0xffff_ffff, 0xffff_ffff, 0xffff_ffff,
  ]);
  const { uncompressedSize, compressedSize, relativeOffsetOfLocalHeader } = entry;
  expect(readZip64(record)).toEqual([uncompressedSize, compressedSize, relativeOffsetOfLocalHeader]);
  const descriptor = entry.getDataDescriptor();
  expect(descriptor.length).toBe(24);
  expect([descriptor.readBigUInt64LE(8), descriptor.readBigUInt64LE(16)].map(Number)).toEqual([
    compressedSize,
    uncompressedSize,
  ]);
});

test("a small one stays what every program reads", () => {
  const entry = entryOf({ uncompressedSize: 0xffff_fffe });
  expect(readZip64(entry.getCentralDirectoryRecord())).toBeUndefined();
  expect(entry.getDataDescriptor().length).toBe(16);
});

test("many directories behind a file that is still compressed are not begun one within the other", async () => {
  const count = 20_000;
  let told = 0;
  const pieces = [Buffer.from([0, 0, 0, 5]), Buffer.from("hello"), Buffer.from([0, 0, 0, 0])];
  const zip = await buffer(
    zipTree({
      async readLine() {
        told += 1;
        if (told === 1) return `file 1767225600.000 644 ${Buffer.from("a").toString("hex")}`;
        return told > count ? "end" : `directory 1767225600.000 755 ${Buffer.from(`d${told}`).toString("hex")}`;
      },
      readSome: () => Promise.resolve(pieces.shift() ?? Buffer.alloc(0)),
      write: () => Promise.resolve(),
      stalled: new AbortController().signal,
      giveUp: () => undefined,
      end: () => Promise.resolve(true),
    }),
  );
  const end = zip.lastIndexOf(Buffer.from("PK\u0005\u0006"));
  expect(zip.readUInt16LE(end + 10)).toBe(count);
});

test("a tree of more entries than two bytes can count has its count in eight, and takes no longer for each", async () => {
  // With the square of the number of entries this would take minutes.
  const count = 150_000;
  let told = 0;
  const zip = await buffer(
    zipTree({
      async readLine() {
        told += 1;
        return told > count ? "end" : `directory 1767225600.000 755 ${Buffer.from(`d${told}`).toString("hex")}`;
      },
      readSome: () => Promise.reject(new Error("there is no file")),
      write: () => Promise.resolve(),
      stalled: new AbortController().signal,
      giveUp: () => undefined,
      end: () => Promise.resolve(true),
    }),
  );
  const end = zip.lastIndexOf(Buffer.from("PK\u0005\u0006"));
  expect([zip.readUInt16LE(end + 8), zip.readUInt16LE(end + 10)]).toEqual([0xffff, 0xffff]);
  const end64 = zip.lastIndexOf(Buffer.from("PK\u0006\u0006"));
  expect([zip.readBigUInt64LE(end64 + 24), zip.readBigUInt64LE(end64 + 32)].map(Number)).toEqual([count, count]);
  const first = Number(zip.readBigUInt64LE(end64 + 48));
  expect(zip.subarray(first, first + 4)).toEqual(Buffer.from("PK\u0001\u0002"));
});
