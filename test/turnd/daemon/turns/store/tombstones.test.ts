import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { openTombstones, type Tombstone } from "../../../../../src/turnd/daemon/turns/store/tombstones.ts";
import { failingSyncs } from "../../../../harness/failing-syncs.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

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

test("what the disk does not confirm is not added, and is when it does", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const stones = await openTombstones(directory);
  const sync = await failingSyncs(1);
  await expect(stones.add([stone("a")])).rejects.toThrow("EIO");
  expect(readFileSync(join(directory, "tombstones.jsonl"), "utf8")).toBe("");
  await stones.add([stone("a")]);
  expect(sync).toHaveBeenCalledTimes(2);
  expect((await openTombstones(directory)).find("a")).toEqual(stone("a"));
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

/** A daemon on tombstones that say what they say. */
async function daemonOn(content: string) {
  const directory = temporaryDirectory(onTestFinished);
  const state = join(directory, "state");
  mkdirSync(state, { mode: 0o711 });
  const path = join(state, "tombstones.jsonl");
  writeFileSync(path, content);
  return { turnd: await fakeDaemonIn(directory), path };
}
const request = (id: string) => ({ executor: "cli-b", input: "hello", request_id: id });

test("a broken line that shows its request keeps that one from running, and nothing else", async () => {
  const broken = JSON.stringify(stone("request-a")).replace('"turn_id":', "");
  const { turnd } = await daemonOn(`${broken}\n${JSON.stringify(stone("request-c"))}\n`);
  for (const id of ["request-a", "request-c"]) {
    const { status, body } = await turnd.request("POST", "/v1/turns", request(id));
    expect([status, body.detail.code]).toEqual([404, "session_not_found"]);
  }
  expect((await turnd.run(request("request-b"))).status).toBe("completed");
});

test("a line that shows no request lets no id in that may be in it, is reported, and is kept", async () => {
  const content = `${JSON.stringify(stone("request-a"))}\nnothing of this\n`;
  const { turnd, path } = await daemonOn(content);
  const { status, body } = await turnd.request("POST", "/v1/turns", request("request-b"));
  expect([status, body.detail.code]).toEqual([507, "storage_full"]);
  expect(body.detail.message).toContain(`${path}:2`);
  const ready = (await turnd.request("GET", "/v1/ready")).body;
  expect(ready.checks).toContainEqual({ name: "files", ok: false, message: expect.stringContaining(`${path}:2`) });
  // What no client can repeat runs.
  const { session_id } = await turnd.run({ executor: "cli-b", input: "hello" });
  expect((await turnd.request("DELETE", `/v1/sessions/${session_id}`)).status).toBe(204);
  expect(readFileSync(path, "utf8").startsWith(content)).toBe(true);
});

test("where tombstones cannot be written, what is left of a deleted session names its requests", async () => {
  const directory = temporaryDirectory(onTestFinished);
  mkdirSync(join(directory, "state/tombstones.jsonl"), { recursive: true });
  const first = await fakeDaemonIn(directory);
  const { session_id } = await first.run({ executor: "cli-b", input: "hello" });
  const id = (await first.request("GET", "/v1/turns")).body.turns[0].request_id;
  expect((await first.request("DELETE", `/v1/sessions/${session_id}`)).status).toBe(204);
  expect((await first.request("GET", `/v1/requests/${id}`)).body.detail.code).toBe("session_not_found");
  await first.stop();
  const second = await fakeDaemonIn(directory);
  expect((await second.request("GET", `/v1/requests/${id}`)).body.detail.code).toBe("session_not_found");
  await second.stop();
  rmSync(join(directory, "state/tombstones.jsonl"), { recursive: true });
  const third = await fakeDaemonIn(directory);
  expect((await third.request("GET", `/v1/requests/${id}`)).body.detail.code).toBe("session_not_found");
  await waitFor("the rest of it to go", () => readdirSync(join(third.state, "sessions")).length === 0);
  expect(readFileSync(join(third.state, "tombstones.jsonl"), "utf8")).toContain(id);
});
