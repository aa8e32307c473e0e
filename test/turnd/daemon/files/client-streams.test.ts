import { randomBytes } from "node:crypto";
import { openAsBlob, readdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { createTurndClient } from "../../../../src/turnd/client/turnd-client.ts";
import { TurndUnreachable } from "../../../../src/turnd/client/errors.ts";
import { answering } from "../../client/made-turn.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { createFilesApp, SESSION, type FilesApp } from "./files-app.ts";

const LIMIT = 64 * 1024 * 1024;
const PIECE = randomBytes(65_536);

let api: FilesApp;
beforeAll(async () => {
  api = await createFilesApp({ maxFileBytes: LIMIT });
});

/** So many pieces; `ended` tells how the reader left. */
function source(pieces: number) {
  const state = { given: 0, isEnded: false };
  async function* generate(): AsyncGenerator<Uint8Array> {
    try {
      for (; state.given < pieces; state.given += 1) yield PIECE;
    } finally {
      state.isEnded = true;
    }
  }
  return { state, generate };
}

function namesLeft(): string[] {
  return readdirSync(api.workspace).filter((name) => name.startsWith(".turnd-upload"));
}

test("a file is written from an async iterable, a stream and a blob, byte for byte", async () => {
  const turnd = createTurndClient({ baseUrl: api.url });
  const whole = Buffer.concat([PIECE, PIECE, PIECE]);
  const { generate } = source(3);
  const path = join(temporaryDirectory(onTestFinished), "in.bin");
  writeFileSync(path, whole);
  const contents = {
    iterable: generate(),
    stream: new Blob([whole]).stream(),
    blob: await openAsBlob(path),
    // An empty piece is no end.
    gaps: ReadableStream.from([new Uint8Array(), PIECE, new Uint8Array(), PIECE, PIECE]),
  };
  for (const [name, content] of Object.entries(contents)) {
    const entry = await turnd.writeFile(SESSION, `from-${name}`, content, { isNew: true });
    expect(entry).toMatchObject({ name: `from-${name}`, size_bytes: whole.length });
    expect((await readFile(join(api.workspace, `from-${name}`))).equals(whole)).toBe(true);
  }
  expect(await turnd.writeFile(SESSION, "empty", (async function* () {})())).toMatchObject({ size_bytes: 0 });
});

test("a stream is read no faster than turnd takes it", async () => {
  // It reads nothing: what it is sent has no place to go but the buffers of the connection.
  const baseUrl = await answering((request) => request.pause());
  const endless = source(Infinity);
  const controller = new AbortController();
  const write = createTurndClient({ baseUrl })
    .writeFile("s", "x", endless.generate(), { signal: controller.signal })
    .catch((error: unknown) => error);
  let before = -1;
  await waitFor("the source to stand still", async () => {
    const given = endless.state.given;
    const isStill = given === before && given > 0;
    before = given;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return isStill;
  });
  expect(endless.state.given * PIECE.length).toBeLessThan(LIMIT / 2);
  controller.abort(new Error("enough"));
  expect(await write).toMatchObject({ message: "enough" });
});

test("a source that fails writes nothing, keeps what was there, and its own fault is thrown", async () => {
  const turnd = createTurndClient({ baseUrl: api.url });
  await turnd.writeFile(SESSION, "kept.txt", "before");
  const fault = new Error("the caller's disk is broken");
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield PIECE;
    throw fault;
  }
  await expect(turnd.writeFile(SESSION, "kept.txt", failing())).rejects.toBe(fault);
  expect(await readFile(join(api.workspace, "kept.txt"), "utf8")).toBe("before");
  await waitFor("the unfinished upload to be removed", () => namesLeft().length === 0);
});

test("a write that is refused says why, and ends its source", async () => {
  const turnd = createTurndClient({ baseUrl: api.url });
  await turnd.writeFile(SESSION, "there.txt", "x");
  const refused = source(Infinity);
  const write = turnd.writeFile(SESSION, "there.txt", refused.generate(), { isNew: true });
  await expect(write).rejects.toMatchObject({ code: "precondition_failed" });
  await waitFor("the source to be ended", () => refused.state.isEnded);

  const endless = source(Infinity);
  await expect(turnd.writeFile(SESSION, "endless.bin", endless.generate())).rejects.toMatchObject({
    code: "body_too_large",
  });
  await waitFor("the source to be ended", () => endless.state.isEnded);
  expect(endless.state.given * PIECE.length).toBeLessThan(LIMIT + 32 * 1024 * 1024);
  await waitFor("the unfinished upload to be removed", () => namesLeft().length === 0);
});

test("an abort in the middle ends the source and the write, with its reason; nothing is left", async () => {
  const turnd = createTurndClient({ baseUrl: api.url });
  const controller = new AbortController();
  const reason = new Error("enough");
  const endless = source(Infinity);
  async function* aborting(): AsyncGenerator<Uint8Array> {
    for await (const piece of endless.generate()) {
      if (endless.state.given === 20) controller.abort(reason);
      yield piece;
    }
  }
  const write = turnd.writeFile(SESSION, "aborted.bin", aborting(), { signal: controller.signal });
  await expect(write).rejects.toBe(reason);
  await waitFor("the source to be ended", () => endless.state.isEnded);
  await waitFor("the unfinished upload to be removed", () => namesLeft().length === 0);
  await expect(turnd.readFile(SESSION, "aborted.bin")).rejects.toMatchObject({ code: "file_not_found" });
});

test("a source that gives nothing any more does not keep an aborted write", async () => {
  const turnd = createTurndClient({ baseUrl: api.url });
  const controller = new AbortController();
  async function* hanging(): AsyncGenerator<Uint8Array> {
    yield PIECE;
    controller.abort(new Error("enough"));
    await new Promise(() => {});
  }
  const write = turnd.writeFile(SESSION, "hanging.bin", hanging(), { signal: controller.signal });
  await expect(write).rejects.toThrow("enough");
});

test("a connection that breaks in the middle is unreachable, and the source is ended", async () => {
  const baseUrl = await answering((request) => {
    request.once("data", () => request.destroy());
  });
  const endless = source(Infinity);
  const write = createTurndClient({ baseUrl }).writeFile("s", "x", endless.generate());
  await expect(write).rejects.toBeInstanceOf(TurndUnreachable);
  await waitFor("the source to be ended", () => endless.state.isEnded);
});
