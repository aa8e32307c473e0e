import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { Problem, PROBLEM_STATUS } from "../../src/turnd/protocol/index.ts";
import type { Answer } from "../harness/client.ts";
import { type Sandbox } from "../harness/sandbox.ts";
import { waitFor } from "../harness/wait-for.ts";

/**
 * A program of the sandbox: answers with what it was sent, greets over a WebSocket, and breaks the connection for some
 * paths.
 */
const PROGRAM = `
const { createServer } = require("node:http");
const { createHash } = require("node:crypto");
const server = createServer((request, response) => {
  if (request.url === "/break") return request.socket.destroy();
  if (request.url.startsWith("/accel?")) {
    const accel = { "x-accel-redirect": decodeURIComponent(request.url.slice(7)), "x-accel-limit-rate": "1", "x-accel-charset": "koi8-r", "x-accel-expires": "9", "x-accel-buffering": "yes" };
    return response.writeHead(200, { ...accel, "content-type": "text/plain" }).end("its own".repeat(1000));
  }
  if (request.url === "/redirect") return response.writeHead(302, { location: "http://" + request.headers.host + "/there" }).end();
  let bytes = 0;
  request.on("data", (chunk) => (bytes += chunk.length));
  request.on("end", () => response.end(JSON.stringify({ url: request.url, method: request.method, headers: request.headers, bytes })));
});
server.on("upgrade", (request, socket) => {
  const accept = createHash("sha1").update(request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: " + accept + "\\r\\n\\r\\n");
  socket.write(Buffer.from([0x81, 5, ...Buffer.from("hello")]));
});
server.listen(Number(process.argv[1]), "127.0.0.1");
`;

/** Starts the program as the CLIs' user and waits until it answers. */
export async function startProgram(sandbox: Sandbox, port: number): Promise<void> {
  await sandbox.exec(["sh", "-c", `node -e '${PROGRAM}' ${port} >/dev/null 2>&1 &`], "1000");
  await waitFor(`port ${port}`, async () => (await sandbox.exec(["curl", "-sf", `localhost:${port}`])).exitCode === 0);
}

/** The answer is this problem, with its status. */
export function expectProblem(answer: Answer, code: Problem["detail"]["code"]): void {
  expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
  expect(Problem.parse(answer.body).detail.code).toBe(code);
  expect(answer.status).toBe(PROBLEM_STATUS[code]);
}

/** Sends bytes and gives back all that comes until the connection is closed. */
export async function sendRaw({ url }: Sandbox, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.write(bytes);
  return text(socket);
}
