import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Stands between a client and turnd, and breaks event streams. */
export interface CuttingProxy {
  readonly url: string;
  /** Event streams that were opened. */
  readonly connections: number;
  close(): Promise<void>;
}

export interface Cut {
  /** Which event stream this is, from 1. */
  readonly connection: number;
  /** What turnd has sent on it so far. */
  readonly sent: string;
}

/**
 * @param keep - how many bytes of what has been sent may pass before the connection is destroyed; undefined: all
 */
export async function startCuttingProxy(
  target: () => string,
  keep: (cut: Cut) => number | undefined,
): Promise<CuttingProxy> {
  let connections = 0;
  const server = createServer((incoming, outgoing) => {
    const isStream = incoming.url?.includes("/events") === true;
    if (isStream) connections += 1;
    const connection = connections;
    const onward = request(`${target()}${incoming.url}`, { method: incoming.method, headers: incoming.headers });
    onward.on("error", () => outgoing.destroy());
    onward.on("response", (answer) => (isStream ? cut(answer, outgoing, connection) : pass(answer, outgoing)));
    incoming.pipe(onward);
    outgoing.on("close", () => onward.destroy());
  });

  function cut(answer: IncomingMessage, outgoing: ServerResponse, connection: number): void {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    outgoing.flushHeaders();
    let sent = "";
    let passed = 0;
    answer.setEncoding("utf8");
    answer.on("data", (chunk: string) => {
      sent += chunk;
      const limit = keep({ connection, sent });
      const end = limit === undefined ? sent.length : Math.min(limit, sent.length);
      const piece = sent.slice(passed, end);
      passed = end;
      if (limit !== undefined && limit <= sent.length) {
        outgoing.write(piece, () => outgoing.destroy());
        answer.destroy();
      } else {
        outgoing.write(piece);
      }
    });
    answer.on("end", () => outgoing.end());
    answer.on("error", () => outgoing.destroy());
  }

  function pass(answer: IncomingMessage, outgoing: ServerResponse): void {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    get connections() {
      return connections;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
