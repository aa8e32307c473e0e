import { expect, test } from "vitest";
import { FileEntry } from "../../../../src/turnd/protocol/index.ts";
import { readEntry, readListed } from "../../../../src/turnd/daemon/files/entry-line.ts";

test.each(["9007199254740991", "9007199254740992", "1152921504606846976", "9223372036854775807"])(
  "a sparse file of %s bytes has an entry, with the largest size that JSON holds exactly at most",
  (size) => {
    const entry = readEntry(`file ${size} 1795700000.000 644 1.2-3`, Buffer.from("x"));
    expect(FileEntry.parse(entry).size_bytes).toBe(Number.MAX_SAFE_INTEGER);
    const listed = readListed(`file ${size} 1795700000.000 644 1.2-3 78`, (name) => name);
    expect(FileEntry.parse(listed.entry).name).toBe("x");
  },
);
