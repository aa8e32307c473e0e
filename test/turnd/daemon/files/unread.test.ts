import { once } from "node:events";
import { connect } from "node:net";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import type { FoundFile } from "../../../../src/turnd/daemon/files/file-service.ts";
import { sendFound } from "../../../../src/turnd/daemon/http/routes/send-file.ts";
import { listen } from "../http/test-app.ts";
import { waitFor } from "../../../harness/wait-for.ts";

test("a transfer that nobody reads is over when its process is given up, not when its connection is idle for as long", async () => {
  const stalled = new AbortController();
  const size = 1024 ** 3;
  let sent = 0;
  let isClosed = false;
  const open: FoundFile = {
    entry: {
      name: "large",
      path: "large",
      type: "file",
      size_bytes: size,
      modified_at: new Date(0).toISOString(),
      mode: "644",
      etag: '"1"',
    },
    // Longer than this test may take.
    stallMs: 600_000,
    stalled: stalled.signal,
    async *read() {
      for (; sent < size; sent += 65_536) yield Buffer.alloc(65_536);
    },
    list: () => Promise.reject(new Error("it is a file")),
    zip: () => Promise.reject(new Error("it is a file")),
    async close() {
      isClosed = true;
    },
  };
  const app = Fastify();
  onTestFinished(() => app.close());
  app.get("/", (_request, reply) => sendFound(reply, open, { headers: {}, query: { limit: 1 }, method: "GET" }));
  const { port } = await listen(app);
  const reader = connect(port, "127.0.0.1");
  onTestFinished(() => void reader.destroy());
  await once(reader, "connect");
  reader.on("error", () => undefined).pause();
  reader.write("GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
  let before = -1;
  await waitFor("nothing goes on", async () => {
    const isStill = sent > 0 && sent === before;
    before = sent;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return isStill;
  });
  expect(isClosed).toBe(false);
  stalled.abort();
  await waitFor("its place is free", () => isClosed);
});
