import { execFileSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeAll, expect, test } from "vitest";
import { chunksOf } from "../../../../src/turnd/client/transport.ts";
import { createTurndClient } from "../../../../src/turnd/client/turnd-client.ts";
import { FileEntry, FileList } from "../../../../src/turnd/protocol/index.ts";
import { CLI_USER, userDirectory, userFile } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { codeOf, createFilesApp, FILES, SESSION, type FilesApp } from "./files-app.ts";

let api: FilesApp;
beforeAll(async () => {
  api = await createFilesApp({ maxFileBytes: 1_000_000 });
});

/** A file of the CLIs' user. */
function given(name: string, content: string): string {
  const path = join(api.workspace, name);
  writeFileSync(path, content);
  userFile(path);
  return path;
}

test("a file is written with its parents, as the CLIs' user, and read again", async () => {
  const made = await api.put("/made/deep/hello.txt", "hello");
  expect(made.status).toBe(201);
  const entry = FileEntry.parse(await made.json());
  expect(entry).toMatchObject({ name: "hello.txt", path: "made/deep/hello.txt", type: "file", size_bytes: 5 });
  expect(made.headers.get("etag")).toBe(entry.etag);
  const { uid, mode } = statSync(join(api.workspace, "made/deep/hello.txt"));
  expect({ uid, mode: mode & 0o777 }).toEqual({ uid: CLI_USER.uid, mode: 0o644 });

  const read = await api.ask("/made/deep/hello.txt");
  expect(await read.text()).toBe("hello");
  expect(Object.fromEntries(read.headers)).toMatchObject({
    etag: entry.etag,
    "content-length": "5",
    "content-type": "application/octet-stream",
    "content-disposition": `attachment; filename="hello.txt"; filename*=UTF-8''hello.txt`,
    "x-content-type-options": "nosniff",
  });
  const head = await api.ask("/made/deep/hello.txt", { method: "HEAD" });
  expect([head.status, head.headers.get("content-length"), head.headers.get("etag")]).toEqual([200, "5", entry.etag]);
  const replaced = await api.put("/made/deep/hello.txt?executable=true", "hello again");
  expect(replaced.status).toBe(200);
  expect(await replaced.json()).toMatchObject({ mode: "755", size_bytes: 11 });
});

test("a part of a file is read by a range, for one version where one is named", async () => {
  given("digits", "0123456789");
  const etag = (await api.ask("/digits", { method: "HEAD" })).headers.get("etag") ?? "";
  const part = async (range: string, more: Record<string, string> = {}) => {
    const response = await api.ask("/digits", { headers: { range, ...more } });
    return [response.status, response.headers.get("content-range"), response.status < 400 ? await response.text() : ""];
  };
  expect(await part("bytes=2-4")).toEqual([206, "bytes 2-4/10", "234"]);
  expect(await part("bytes=7-")).toEqual([206, "bytes 7-9/10", "789"]);
  expect(await part("bytes=-2")).toEqual([206, "bytes 8-9/10", "89"]);
  expect(await part("bytes=8-100")).toEqual([206, "bytes 8-9/10", "89"]);
  expect(await part("bytes=10-")).toEqual([416, "bytes */10", ""]);
  expect(await part("bytes=0-1,4-5")).toEqual([200, null, "0123456789"]);
  expect(await part("bytes=0-1", { "if-range": etag })).toEqual([206, "bytes 0-1/10", "01"]);
  expect(await part("bytes=0-1", { "if-range": '"other"' })).toEqual([200, null, "0123456789"]);
  expect(await part("Bytes=2-4")).toEqual([206, "bytes 2-4/10", "234"]);
  const head = await api.ask("/digits", { method: "HEAD", headers: { range: "bytes=2-4" } });
  expect([head.status, head.headers.get("content-length"), head.headers.get("content-range")]).toEqual([
    200,
    "10",
    null,
  ]);
  expect((await api.ask("/digits", { headers: { "if-none-match": `"x", W/${etag}` } })).status).toBe(304);
  expect(await codeOf(await api.ask("/digits", { headers: { "if-match": '"other"' } }))).toBe(
    "412 precondition_failed",
  );
});

test("of writers with one condition one wins, and what is there is not replaced against it", async () => {
  const race = await Promise.all([1, 2, 3, 4].map((n) => api.put("/once", `${n}`, { "if-none-match": "*" })));
  expect(race.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 412, 412, 412]);
  const etag = (await api.ask("/once", { method: "HEAD" })).headers.get("etag") ?? "";
  const changes = await Promise.all([5, 6, 7].map((n) => api.put("/once", `changed ${n}`, { "if-match": etag })));
  expect(changes.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412, 412]);
  expect(await codeOf(await api.put("/never", "x", { "if-match": "*" }))).toBe("412 precondition_failed");
  expect(await codeOf(await api.put("/once", "x", { "if-match": `${etag}, "b"` }))).toBe("422 invalid_request");
  const removal = { method: "DELETE", headers: { "if-match": etag } };
  expect(await codeOf(await api.ask("/once", removal))).toBe("412 precondition_failed");
  expect((await api.ask("/once", { method: "DELETE" })).status).toBe(204);
  expect(readdirSync(api.workspace).filter((name) => name.startsWith(".turnd-"))).toEqual([]);
});

test("a directory is listed in pages, with every kind of entry and every name", async () => {
  const directory = userDirectory(join(api.workspace, "kinds"));
  writeFileSync(join(directory, "new\nline"), "");
  execFileSync(
    "/usr/bin/perl",
    [
      "-e",
      'open my $f, ">", "$ARGV[0]/\\xff\\xfe" or die; mkfifo("$ARGV[0]/pipe", 0600) or die',
      "-MPOSIX",
      directory,
    ].toSorted((a) => (a === "-MPOSIX" ? -1 : 0)),
  );
  mkdirSync(join(directory, "below"));
  symlinkSync("/etc/passwd", join(directory, "link"));
  const entries = [];
  for (let after = ""; ;) {
    const page = FileList.parse(await (await api.ask(`/kinds?limit=2${after}`)).json());
    expect(page.entries.length).toBeLessThanOrEqual(2);
    entries.push(...page.entries);
    if (page.next_after === undefined) break;
    after = `&after=${page.next_after}`;
  }
  expect(entries.map(({ name, path, type, target }) => ({ name, path, type, target }))).toEqual([
    { name: "below", path: "kinds/below", type: "directory", target: undefined },
    { name: "link", path: "kinds/link", type: "link", target: "/etc/passwd" },
    { name: "new\nline", path: "kinds/new%0Aline", type: "file", target: undefined },
    { name: "pipe", path: "kinds/pipe", type: "other", target: undefined },
    { name: "\ufffd\ufffd", path: "kinds/%FF%FE", type: "file", target: undefined },
  ]);
  expect((await api.put("/kinds/%FF%FE", "bytes")).status).toBe(200);
  expect(await (await api.ask("/kinds/%FF%FE")).text()).toBe("bytes");
  expect(FileList.parse(await (await api.ask("/")).json()).entries.some(({ name }) => name === "kinds")).toBe(true);
  expect((await api.put("/kinds/more/")).status).toBe(201);
  expect((await api.put("/kinds/more/")).status).toBe(200);
});

test("what is no path below the workspace is refused", async () => {
  /** As it is given: fetch would resolve `..`. */
  const status = (path: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const asked = request({ port: api.port, host: "127.0.0.1", path: `${FILES}${path}` }, (response) => {
        text(response).then((body) => resolve(`${response.statusCode} ${JSON.parse(body).detail.code}`), reject);
      });
      asked.on("error", reject).end();
    });
  for (const path of [
    "/..",
    "/../../etc/passwd",
    "/a/%2e%2e/b",
    "/a%2Fb",
    "/a//b",
    "/%00",
    "/%zz",
    "/a/./b",
    `/${"x".repeat(256)}`,
  ]) {
    expect(await status(path), path).toBe("422 invalid_path");
  }
  expect(await codeOf(await api.ask("", { method: "PUT" }))).toBe("404 route_not_found");
  expect(await codeOf(await api.ask("/nothing"))).toBe("404 file_not_found");
  expect(await codeOf(await api.put("/x/", "bytes"))).toBe("422 invalid_path");
});

test("no link is followed, no pipe is opened, and a second name of a file is not written through", async () => {
  const outside = join(api.workspace, "../outside");
  userDirectory(outside);
  writeFileSync(join(outside, "secret"), "secret");
  userFile(join(outside, "secret"));
  symlinkSync(outside, join(api.workspace, "out"));
  symlinkSync(join(outside, "secret"), join(api.workspace, "leak"));
  linkSync(join(outside, "secret"), join(api.workspace, "second-name"));
  execFileSync("/usr/bin/mkfifo", [join(api.workspace, "pipe")]);
  for (const path of ["/out/secret", "/out/new", "/out/"])
    expect(await codeOf(await api.ask(path)), path).toMatch(/^(404 file_not_found|409 file_type_mismatch)$/);
  expect(await codeOf(await api.put("/out/new", "x"))).toBe("404 file_not_found");
  for (const path of ["/leak", "/pipe"]) {
    expect(await codeOf(await api.ask(path)), path).toBe("409 file_type_mismatch");
    expect(await codeOf(await api.put(path, "x")), path).toBe("409 file_type_mismatch");
  }
  expect((await api.put("/second-name", "mine")).status).toBe(200);
  expect((await api.ask("/out", { method: "DELETE" })).status).toBe(204);
  expect(readFileSync(join(outside, "secret"), "utf8")).toBe("secret");
  expect(existsSync(join(outside, "new"))).toBe(false);
});

test("the typed client writes, lists, reads and removes files, and opens an entry of any name", async () => {
  const client = createTurndClient({ baseUrl: api.url });
  const bytes = Uint8Array.from([0, 255, 10]);
  const made = await client.writeFile(SESSION, "client/ä %.bin", bytes, { isNew: true, isExecutable: true });
  expect(made).toMatchObject({ name: "ä %.bin", size_bytes: 3, mode: "755" });
  await expect(client.writeFile(SESSION, made, "x", { isNew: true })).rejects.toMatchObject({
    code: "precondition_failed",
  });
  const { entries } = await client.listFiles(SESSION, "client/", { limit: 1 });
  expect(entries).toEqual([made]);
  const part = await client.readFile(SESSION, made, { range: "bytes=1-" });
  expect([part.status, part.headers.get("content-range")]).toEqual([206, "bytes 1-2/3"]);
  const received: Uint8Array[] = [];
  for await (const chunk of chunksOf(part.body)) received.push(chunk);
  expect(Buffer.concat(received).toString("hex")).toBe("ff0a");
  await client.removeFile(SESSION, "client", { isRecursive: true });
  await expect(client.readFile(SESSION, made)).rejects.toMatchObject({ code: "file_not_found" });
  await expect(client.listFiles(SESSION, "../x")).rejects.toThrow(TypeError);
  await expect(client.diff("no-such-turn")).rejects.toMatchObject({ code: "turn_not_found" });
});

test("a directory is removed with all below it where that is asked for", async () => {
  await api.put("/tree/a/b", "x");
  expect(await codeOf(await api.ask("/tree", { method: "DELETE" }))).toBe("409 directory_not_empty");
  expect((await api.ask("/tree?recursive=true", { method: "DELETE" })).status).toBe(204);
  expect(existsSync(join(api.workspace, "tree"))).toBe(false);
});

test("an upload that breaks off or is too large leaves nothing, not even its directories", async () => {
  const socket = connect(api.port, "127.0.0.1");
  socket.write(`PUT ${FILES}/half/way/file HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1000\r\n\r\nbegun`);
  await waitFor("the upload", () => existsSync(join(api.workspace, "half/way")));
  socket.destroy();
  await waitFor("its removal", () => !existsSync(join(api.workspace, "half")));
  expect(await codeOf(await api.put("/big/file", "x".repeat(1_000_001)))).toBe("413 body_too_large");
  const chunks = new ReadableStream({
    start(controller) {
      for (let n = 0; n < 20; n += 1) controller.enqueue(Buffer.alloc(60_000));
      controller.close();
    },
  });
  const chunked = await api.ask("/big/file", { method: "PUT", body: chunks, duplex: "half" });
  expect(await codeOf(chunked)).toBe("413 body_too_large");
  await waitFor("their removal", () => !existsSync(join(api.workspace, "big")));
});
