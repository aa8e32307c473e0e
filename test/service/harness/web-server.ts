import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A request that came, with its whole body. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A web server on 127.0.0.1 that keeps what it was asked. */
export async function startWebServer(
  answer: (received: Received, response: ServerResponse) => void,
): Promise<{ port: number; url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => void take(request, response));

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = "", url = "", headers } = request;
    const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
    received.push(one);
    answer(one, response);
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}`, received };
}
