import { once } from "node:events";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { createStreams, type Frame } from "../../../src/service/http/streams.ts";
import { waitFor } from "../../harness/wait-for.ts";

/** More than what both ends' kernels hold of a connection. */
const PAGES = 40;
const PAGE = "x".repeat(1_000_000);

test("a client that takes nothing is waited for: the next page is asked for when the last is on its way", async () => {
  let asked = 0;
  let mostWaiting = 0;
  let sent: ServerResponse | undefined;
  let sending: Promise<void> | undefined;
  const faults: unknown[] = [];
  const streams = createStreams({
    most: 1,
    mostOfOne: 100,
    heartbeatMs: 60_000,
    checkMs: 60_000,
    maxMs: 600_000,
    onFault: (fault) => faults.push(fault),
  });
  const server = createServer((_request, response) => {
    sent = response;
    sending = streams.open(
      response,
      {},
      {
        userId: 1,
        isAllowed: async () => true,
        async *read(): AsyncGenerator<readonly Frame[]> {
          for (; asked < PAGES; asked += 1) {
            mostWaiting = Math.max(mostWaiting, response.writableLength);
            yield [{ id: asked + 1, event: "page", data: PAGE }];
          }
        },
      },
    );
  });
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ port, host: "127.0.0.1" }, resolve).on("error", reject);
  });
  response.pause();
  await waitFor("the kernel to be full", () => sent?.writableNeedDrain === true && sent.writableLength > 0);
  expect(asked).toBeLessThan(PAGES);
  let bytes = 0;
  for await (const chunk of response) bytes += chunk.length;
  await sending;
  expect(bytes).toBeGreaterThan(PAGES * PAGE.length);
  expect(mostWaiting).toBeLessThan(PAGE.length);
  expect([asked, streams.count(), faults]).toEqual([PAGES, 0, []]);
});
