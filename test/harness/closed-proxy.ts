import { once } from "node:events";
import { createServer } from "node:net";

/** A proxy that lets nothing through. */
export interface ClosedProxy {
  readonly url: string;
  /** First lines of what was asked of it, such as `CONNECT registry.example:443 HTTP/1.1`. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

/** Starts one: a request to it is recorded, and gets nothing. */
export async function startClosedProxy(): Promise<ClosedProxy> {
  const asked: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (data) => {
      asked.push(data.toString("latin1").split("\r\n", 1)[0] ?? "");
      socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error(`no TCP address: ${String(address)}`);
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    async close() {
      server.close();
      await once(server, "close");
    },
  };
}
