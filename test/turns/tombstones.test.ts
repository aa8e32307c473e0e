import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { openTombstones, type Tombstone } from "../../src/daemon/turns/tombstones.ts";
import { fakeDaemonIn } from "../harness/fake-daemon.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

const stone = (name: string): Tombstone => ({ request_id: name, turn_id: `turn-${name}`, session_id: "session-1" });

test("tombstones are kept, whatever byte of the last line they break off at", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const path = join(directory, "tombstones.jsonl");
  await (await openTombstones(directory)).add([stone("a"), stone("ü")]);
  const whole = readFileSync(path);
  for (let size = whole.length - 1; size > whole.indexOf("\n"); size -= 1) {
    writeFileSync(path, whole);
    truncateSync(path, size);
    const torn = await openTombstones(directory);
    expect([torn.find("a"), torn.find("ü")]).toEqual([stone("a"), undefined]);
    await torn.add([stone("c")]);
    const again = await openTombstones(directory);
    expect([again.find("a"), again.find("c")]).toEqual([stone("a"), stone("c")]);
  }
});

test("a first one that could not be written keeps no later one from it", async () => {
  const directory = join(temporaryDirectory(onTestFinished), "later");
  const stones = await openTombstones(directory);
  await expect(stones.add([stone("a")])).rejects.toThrow("ENOENT");
  mkdirSync(directory);
  await stones.add([stone("b")]);
  expect((await openTombstones(directory)).find("b")).toEqual(stone("b"));
});

test("what is added at once is all kept", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const stones = await openTombstones(directory);
  const names = Array.from({ length: 50 }, (_, index) => `request-${index}`);
  await Promise.all(names.map((name) => stones.add([stone(name)])));
  const again = await openTombstones(directory);
  expect(names.filter((name) => again.find(name) === undefined)).toEqual([]);
});

test.runIf(process.getuid?.() === 0)("what a full disk takes only in part is taken back", async () => {
  const directory = join(temporaryDirectory(onTestFinished), "disk");
  mkdirSync(directory);
  await execa("mount", ["-t", "tmpfs", "-o", "size=64k", "turnd-test", directory]);
  onTestFinished(async () => void (await execa("umount", ["--lazy", directory])));
  const stones = await openTombstones(directory);
  await stones.add([stone("before")]);
  const filler = join(directory, "filler");
  writeFileSync(filler, Buffer.alloc(40_960));
  const many = Array.from({ length: 400 }, (_, index) => stone(`many-${index}`));
  await expect(stones.add(many)).rejects.toThrow("ENOSPC");
  rmSync(filler);
  await stones.add([stone("after")]);
  const again = await openTombstones(directory);
  const names = ["before", "many-0", "after"];
  expect(names.map((name) => again.find(name)?.request_id)).toEqual(["before", undefined, "after"]);
});

test("a broken line among the tombstones stops the start, and says where it is and what to do", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  await first.stop();
  const path = join(first.state, "tombstones.jsonl");
  writeFileSync(path, `${JSON.stringify(stone("a"))}\n{"request_id":"b"${JSON.stringify(stone("c"))}\n`);
  await expect(fakeDaemonIn(directory)).rejects.toThrow(`turnd: ${path}:2 cannot be read`);
  await expect(fakeDaemonIn(directory)).rejects.toThrow("remove the line if");
});
