import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

const HEADERS_TIMEOUT_MS = 20_000;
/** How often timeouts are checked; Node's own 30 s would more than double the shorter one. */
const CHECK_EVERY_MS = 5_000;
const REQUEST_TIMEOUT_MS = 120_000;
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** Time for all connections to end on shutdown. */
const CLOSE_MS = 2_000;

/**
 * Fastify's options for connections. No timeout runs while a request is answered: waits and streams may last for hours.
 */
export const CONNECTION_OPTIONS = {
  http: { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: CHECK_EVERY_MS },
  requestTimeout: REQUEST_TIMEOUT_MS,
  keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  // While streams still end, reads and cancels are answered; what may not begin is refused as a problem.
  return503OnClosing: false,
} as const;

/**
 * Lets no connection keep an app from closing: one that has sent nothing is ended at once, every other one after
 * `closeMs`.
 */
export function endConnectionsOnClose(app: FastifyInstance, closeMs: number = CLOSE_MS): void {
  const connections = trackConnections(app);
  app.addHook("preClose", async () => {
    // Node counts a connection that has sent nothing as busy; clients open such ones in advance.
    for (const connection of connections) if (connection.bytesRead === 0) connection.destroy();
    // A request that never arrives in full, or an answer that is never read, must not keep the process from stopping.
    const timer = setTimeout(() => app.server.closeAllConnections(), closeMs);
    timer.unref();
    app.server.once("close", () => clearTimeout(timer));
  });
}

function trackConnections(app: FastifyInstance): ReadonlySet<Socket> {
  const connections = new Set<Socket>();
  app.server.on("connection", (connection: Socket) => {
    connections.add(connection);
    connection.once("close", () => connections.delete(connection));
  });
  return connections;
}
