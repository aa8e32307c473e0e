import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Stands for an S3 bucket: put, get, delete, and list in pages of two. Refuses what is not signed or not what was signed. */
export async function startBucketServer(): Promise<{
  url: string;
  objects: Map<string, Buffer>;
  close(): Promise<void>;
}> {
  const objects = new Map<string, Buffer>();
  const server = createServer((request, response) => void answer(request, response));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://bucket");
    const key = url.pathname.replace(/^\/bucket\/?/, "");
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const authorization = request.headers.authorization ?? "";
    if (!/^AWS4-HMAC-SHA256 Credential=the-key\/\d{8}\/eu-test-1\/s3\/aws4_request/.test(authorization))
      return end(response, 403);
    if (request.method === "PUT") {
      if (createHash("sha256").update(body).digest("hex") !== request.headers["x-amz-content-sha256"])
        return end(response, 400);
      objects.set(key, body);
      return end(response, 200);
    }
    if (request.method === "DELETE") return end(response, objects.delete(key) ? 204 : 404);
    if (key === "") return end(response, 200, list(url.searchParams));
    const found = objects.get(key);
    return found === undefined ? end(response, 404) : end(response, 200, found);
  }

  function list(query: URLSearchParams): string {
    const keys = [...objects.keys()].filter((key) => key.startsWith(query.get("prefix") ?? "")).toSorted();
    const from = Number(query.get("continuation-token") ?? 0);
    const page = keys
      .slice(from, from + 2)
      .map((key) => `<Contents><Key>${key}</Key><LastModified>${new Date().toISOString()}</LastModified></Contents>`);
    const more = keys.length > from + 2;
    return `<?xml version="1.0"?><ListBucketResult><IsTruncated>${more}</IsTruncated>${page.join("")}${more ? `<NextContinuationToken>${from + 2}</NextContinuationToken>` : ""}</ListBucketResult>`;
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function end(response: ServerResponse, status: number, body?: Buffer | string): void {
  response.writeHead(status);
  response.end(body);
}
