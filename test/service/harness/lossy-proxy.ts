import { once } from "node:events";
import { createServer, request as ask, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { onTestFinished } from "vitest";

/**
 * What becomes of a request on its way to turnd: `cut` delivers it and loses the answer, `hold` delivers it and keeps the answer
 * for ever, `stall` takes nothing of it in, `refuse` loses it whole, `late` cuts its connection and delivers it later, on demand,
 * `spoil` delivers it and passes a stream's messages on as events of an unknown type.
 */
export type Handling = "pass" | "cut" | "hold" | "garble" | "stall" | "refuse" | "late" | "spoil";

export interface LossyProxy {
  readonly url: string;
  /** Decides about every request from now on. */
  decide(handling: (method: string, path: string) => Handling): void;
  /** Breaks every connection there is. */
  cutOff(): void;
  /** Requests so far, such as `POST /v1/turns`. */
  readonly asked: readonly string[];
  /** Delivers the requests that are late, even where the caller has gone. @returns their statuses */
  deliverLate(): Promise<number[]>;
}

/** Stands between a service and its turnd and loses what a test chooses. */
export async function startLossyProxy(target: string): Promise<LossyProxy> {
  const asked: string[] = [];
  const late: (() => Promise<number>)[] = [];
  let handlingOf: (method: string, path: string) => Handling = () => "pass";
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, outgoing) => {
    const { method = "GET", url: path = "/", headers } = incoming;
    asked.push(`${method} ${path}`);
    const handling = handlingOf(method, path);
    if (handling === "refuse") {
      incoming.socket.destroy();
      return;
    }
    if (handling === "stall") return;
    if (handling === "late") {
      const pieces: Buffer[] = [];
      incoming.on("data", (piece: Buffer) => pieces.push(piece));
      incoming.on("end", () => {
        const request = { method, headers: copyHeaders(headers), body: Buffer.concat(pieces) };
        late.push(async () => (await fetch(`${target}${path}`, request)).status);
        incoming.socket.destroy();
      });
      return;
    }
    const upstream = ask({ hostname, port, method, path, headers }, (answer: IncomingMessage) => {
      if (handling === "pass") {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
        answer.on("error", () => outgoing.destroy());
        return;
      }
      if (handling === "spoil") {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        pipeline(answer, spoilMessages, outgoing).catch(() => outgoing.destroy());
        return;
      }
      answer.resume();
      if (handling === "hold") return;
      answer.on("end", () => {
        if (handling === "cut") incoming.socket.destroy();
        else outgoing.writeHead(200, { "content-type": "application/json" }).end('{"what":');
      });
    });
    upstream.on("error", () => incoming.socket.destroy());
    outgoing.on("close", () => upstream.destroy());
    incoming.pipe(upstream);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no TCP address");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    deliverLate: () => Promise.all(late.splice(0).map((deliver) => deliver())),
    decide(handling) {
      handlingOf = handling;
    },
    cutOff: () => server.closeAllConnections(),
  };
}

async function* spoilMessages(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const line of createInterface({ input: Readable.from(stream) })) {
    yield `${line.replace('"type":"message"', '"type":"what"')}\n`;
  }
}

/** Without those that are of one connection. */
function copyHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const ofConnection = new Set(["connection", "host", "content-length", "transfer-encoding", "keep-alive"]);
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === "string" && !ofConnection.has(name) ? [[name, value]] : [],
    ),
  );
}
