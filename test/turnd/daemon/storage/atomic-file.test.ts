import fs, { readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryDirectory } from "../../../harness/temporary.ts";

/** The module on a disk that notes, in order, what is put on it and what is renamed. */
async function onNotingDisk() {
  const done: string[] = [];
  const { fsync, renameSync } = fs;
  fs.fsync = Object.assign((fd: number, callback: fs.NoParamCallback) => {
    done.push(`sync ${basename(readlinkSync(`/proc/self/fd/${fd}`))}`);
    fsync(fd, callback);
  }, fsync);
  fs.renameSync = (from, to) => {
    done.push(`rename ${basename(String(from))}`);
    renameSync(from, to);
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs, { fsync, renameSync });
    syncBuiltinESMExports();
  });
  vi.resetModules();
  return { done, ...(await import("../../../../src/turnd/daemon/storage/atomic-file.ts")) };
}

test("a new content is on the disk before it takes the old one's place, and its name before the write is done", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const path = join(directory, "file");
  const { done, writeFileAtomic } = await onNotingDisk();
  await writeFileAtomic(path, "new");
  expect(done).toEqual(["sync file.new", "rename file.new", `sync ${basename(directory)}`]);
  expect(readFileSync(path, "utf8")).toBe("new");
});

test("a link that stands where the new content is written leads it nowhere", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const other = join(directory, "other");
  writeFileSync(other, "another's");
  symlinkSync(other, join(directory, "file.new"));
  const { writeFileAtomic } = await import("../../../../src/turnd/daemon/storage/atomic-file.ts");
  await expect(writeFileAtomic(join(directory, "file"), "new")).rejects.toThrow("ELOOP");
  expect(readFileSync(other, "utf8")).toBe("another's");
});
