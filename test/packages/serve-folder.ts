import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { onTestFinished } from "vitest";

const TYPES: Readonly<Record<string, string>> = { ".html": "text/html; charset=utf-8", ".js": "text/javascript" };

/** Serves a folder as it is. @returns the origin */
export async function serveFolder(directory: string): Promise<string> {
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "", "http://folder").pathname;
    void readFile(join(directory, path)).then(
      (bytes) => response.setHeader("content-type", TYPES[extname(path)] ?? "application/octet-stream").end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
