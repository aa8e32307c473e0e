import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statfsSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { fromBufferPromise, type Entry } from "yauzl";
import { startAttack } from "../../../harness/attack.ts";
import { listProcesses } from "../../../../src/turnd/daemon/process/keeper/process-table.ts";
import { processesNaming } from "../../../harness/processes.ts";
import { temporaryDirectory, userDirectory, userFile } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { codeOf, createFilesApp, FILES, type FilesApp } from "./files-app.ts";

/** Only root can mount, and has another user to attack as. */
const IS_ROOT = process.getuid?.() === 0;
/** What a worker has in its arguments for a path. */
const inHex = (path: string): string => Buffer.from(path).toString("hex");

test("a process that swaps a directory for a link leads no read, write, list, zip or removal out of the workspace", async () => {
  const api = await createFilesApp();
  const outside = userDirectory(join(api.workspace, "../outside"));
  const inside = userDirectory(join(api.workspace, "dir"));
  for (const [directory, content] of [
    [outside, "outside"],
    [inside, "inside"],
  ] as const) {
    writeFileSync(join(directory, "file"), content);
    userFile(join(directory, "file"));
  }
  writeFileSync(join(outside, "only-outside"), "");
  const attack = await startAttack("swap-directory", api.workspace, outside);
  const seen = new Map<string, number>();
  // Until reads have met the directory as well as the link.
  const hasMetBoth = (): boolean => seen.has("0 true") && seen.has("0 false");
  for (let round = 0; round < 8 || (round < 200 && !hasMetBoth()); round += 1) {
    const answers = await Promise.all([
      api.ask("/dir/file"),
      api.put(`/dir/new-${round}`, "new"),
      api.ask("/dir/?limit=1000"),
      api.ask("/dir/only-outside", { method: "DELETE" }),
      api.ask("/?archive=zip"),
    ]);
    for (const [index, answer] of answers.entries()) {
      const body = await answer.text();
      expect(body).not.toMatch(/outside"|^outside|only-outside/);
      const kind = `${index} ${answer.ok}`;
      seen.set(kind, (seen.get(kind) ?? 0) + 1);
    }
  }
  attack.end();
  expect(readdirSync(outside).toSorted()).toEqual(["file", "only-outside"]);
  expect(hasMetBoth()).toBe(true);
});

test("a tree is sent as a zip without what is no file, whatever its names are", async () => {
  const api = await createFilesApp();
  await api.put("/a/%C3%BC.txt", "umlaut");
  await api.put("/a/%FF", "no text");
  await api.put("/a/back%5Cslash", "x");
  await api.put("/a/run?executable=true", "#!/bin/sh");
  await api.put("/a/large", "x".repeat(300_000));
  await api.put("/empty/");
  symlinkSync("/etc/passwd", join(api.workspace, "a/link"));
  execFileSync("/usr/bin/mkfifo", [join(api.workspace, "a/pipe")]);
  const response = await api.ask("/?archive=zip");
  expect(response.headers.get("content-type")).toBe("application/zip");
  const zip = await fromBufferPromise(Buffer.from(await response.arrayBuffer()), { autoClose: false });
  const found: Record<string, string> = {};
  const entries: Entry[] = [];
  for await (const entry of zip.eachEntry()) entries.push(entry);
  for (const { fileName, externalFileAttributes } of entries) {
    found[fileName] = (externalFileAttributes >>> 16).toString(8);
  }
  expect(found).toEqual({
    "a/": "40755",
    "a/%FF": "100644",
    "a/back%5Cslash": "100644",
    "a/large": "100644",
    "a/run": "100755",
    "a/ü.txt": "100644",
    "empty/": "40755",
  });
  expect(zip.comment).toBe("left out, link: 1; left out, other: 1");
  const large = entries.find(({ fileName }) => fileName === "a/large");
  if (large === undefined) throw new Error("no a/large");
  expect(await text(await zip.openReadStreamPromise(large))).toBe("x".repeat(300_000));

  const small = await createFilesApp({ maxArchiveEntries: 3, workspace: api.workspace });
  expect(await codeOf(await small.ask("/?archive=zip"))).toBe("413 archive_too_large");
  expect(await codeOf(await api.ask("/a/run?archive=zip"))).toBe("409 file_type_mismatch");
});

/** Asks for a large file without reading it, and sends nothing of another: both take a place until they are given up. */
async function stall(api: FilesApp): Promise<{ readonly reader: Socket; readonly writer: Socket }> {
  truncateSync(join(api.workspace, "sparse"), 256 * 1024 ** 2);
  const [reader, writer] = await Promise.all([open(api.port), open(api.port)]);
  reader.write(`GET ${FILES}/sparse HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`);
  writer.write(`PUT ${FILES}/never HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 10\r\n\r\n`);
  return { reader, writer };
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.on("error", () => undefined);
  socket.pause();
  return socket;
}

test("clients that take and send nothing have their places, until they leave", async () => {
  const api = await createFilesApp({ stallMs: 60_000, maxTransfers: 2 });
  await api.put("/sparse", "");
  const sockets = await stall(api);
  await waitFor("both", () => ["sparse", "never"].every((path) => processesNaming(inHex(path)).length > 0));
  expect(await codeOf(await api.ask("/sparse"))).toBe("429 too_many_transfers");
  for (const socket of Object.values(sockets)) socket.destroy();
  await waitFor("a place", async () => (await api.ask("/sparse", { method: "HEAD" })).status === 200);
});

test("a client that takes no byte, and one that sends none, is given up with its process", async () => {
  const api = await createFilesApp({ stallMs: 2_000, maxTransfers: 2 });
  await api.put("/sparse", "");
  const { reader, writer } = await stall(api);
  await once(writer.resume(), "close");
  await waitFor("its connection is closed", () => establishedTo(api.port, reader.localPort) === 0);
  for (const path of ["sparse", "never"]) {
    await waitFor(`the end of ${path}`, () => processesNaming(inHex(path)).length === 0);
  }
  await waitFor("nothing of the upload", () => readdirSync(api.workspace).join(" ") === "sparse");
  // Their places are free again.
  await waitFor("a place", async () => (await api.ask("/sparse", { method: "HEAD" })).status === 200);
});

test.each(["/large", "/?archive=zip"])(
  "the connection of a client that reads nothing of %s is closed, and its place is free",
  async (path) => {
    const api = await createFilesApp({ stallMs: 2_000, maxTransfers: 1 });
    // More than the system keeps for a connection.
    writeFileSync(join(api.workspace, "large"), randomBytes(24_000_000));
    userFile(join(api.workspace, "large"));
    const reader = await open(api.port);
    reader.write(`GET ${FILES}${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`);
    await waitFor("its connection is closed", () => establishedTo(api.port, reader.localPort) === 0);
    await waitFor("a place", async () => (await api.ask("/large", { method: "HEAD" })).status === 200);
  },
);

/** Connections that the server's side still has. @see proc(5), /proc/net/tcp */
function establishedTo(port: number, from: number | undefined): number {
  const hex = (number: number): string => number.toString(16).toUpperCase().padStart(4, "0");
  return readFileSync("/proc/self/net/tcp", "utf8")
    .split("\n")
    .filter((line) => new RegExp(`:${hex(port)} \\w+:${hex(from ?? 0)} 01 `).test(line)).length;
}

test("a worker that a tool kills costs its request alone, and leaves nothing", async () => {
  const api = await createFilesApp();
  const writer = connect(api.port, "127.0.0.1");
  onTestFinished(() => void writer.destroy());
  let answer = "";
  writer.on("data", (data: Buffer) => (answer += data.toString()));
  writer.write(`PUT ${FILES}/killed HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1000000\r\n\r\nbegun`);
  await waitFor("the upload", () => readdirSync(api.workspace).length > 0);
  // The helper that waits for it is not that user's.
  const found = processesNaming(inHex("killed"));
  const workers = listProcesses().filter(({ pid, parentPid }) => found.includes(pid) && found.includes(parentPid));
  expect(workers).toHaveLength(1);
  for (const { pid } of workers) process.kill(pid, "SIGKILL");
  writer.write(Buffer.alloc(900_000));
  await waitFor("the answer", () => answer.includes("transfer_failed"));
  expect(answer).toMatch(/^HTTP\/1\.1 503 /);
  expect(readdirSync(api.workspace)).toEqual([]);
  expect((await api.put("/killed", "again")).status).toBe(201);
});

test.runIf(IS_ROOT)("a full disk is storage_full, and the file that was there stays", async () => {
  const workspace = userDirectory(join(temporaryDirectory(afterAll), "workspace"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m,mode=755,uid=1000,gid=1000", "turnd-test", workspace]);
  onTestFinished(() => void execFileSync("umount", ["--lazy", workspace]));
  const api = await createFilesApp({ workspace });
  expect((await api.put("/kept", "old")).status).toBe(201);
  const free = (): number => statfsSync(workspace).bavail;
  const before = free();
  for (const path of ["/kept", "/new/file"]) {
    expect(await codeOf(await api.put(path, "x".repeat(8_000_000)))).toBe("507 storage_full");
  }
  expect(readFileSync(join(workspace, "kept"), "utf8")).toBe("old");
  expect(existsSync(join(workspace, "new"))).toBe(false);
  expect(free()).toBe(before);
});

test.runIf(IS_ROOT)("a workspace that has become a link is not entered", async () => {
  const directory = userDirectory(join(temporaryDirectory(onTestFinished), "place"));
  const api = await createFilesApp({ workspace: join(directory, "workspace") });
  symlinkSync("/etc", join(directory, "workspace"));
  expect(await codeOf(await api.ask("/passwd"))).toBe("422 workspace_unusable");
  expect(await codeOf(await api.ask("/"))).toBe("422 workspace_unusable");
});
