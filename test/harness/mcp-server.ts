import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { z } from "zod";

/** A server of tools, as a CLI is given one. */
export interface TestMcpServer {
  readonly url: string;
  /** Headers of every request so far. */
  readonly seen: readonly IncomingHttpHeaders[];
}

/**
 * Starts a streamable HTTP server on loopback with one tool, `lookup {word}`, that answers with the word and the key it was
 * asked with; closed when the test is done.
 */
export async function startMcpServer(): Promise<TestMcpServer> {
  const seen: IncomingHttpHeaders[] = [];
  const handler = createMcpHandler(({ requestInfo }) => {
    const server = new McpServer({ name: "words", version: "1.0.0" });
    const key = requestInfo?.headers.get("authorization") ?? "no key";
    server.registerTool(
      "lookup",
      { description: "Looks a word up.", inputSchema: z.object({ word: z.string() }) },
      ({ word }) => ({ content: [{ type: "text", text: `${word} is known, asked with ${key}` }] }),
    );
    return server;
  });
  const http = createServer((request, response) => {
    void (async () => {
      seen.push(request.headers);
      const headers = Object.entries(request.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      );
      const body = request.method === "POST" ? { body: await text(request) } : {};
      const answer = await handler.fetch(
        new Request(new URL(request.url ?? "/", "http://127.0.0.1"), {
          method: request.method ?? "GET",
          headers,
          ...body,
        }),
      );
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(await answer.text());
    })();
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, seen };
}
