import { once } from "node:events";
import { chmod, chown, lstat, rm, stat } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import type { Duplex } from "node:stream";
import type { FastifyInstance } from "fastify";

declare module "fastify" {
  interface FastifyInstance {
    readonly connections: Connections;
  }
}

/**
 * The connections of an app, by entrance: its port, which every process of the sandbox can reach, and a Unix socket,
 * which only the front can reach. Each has a limit of its own, so that callers of the port never use up the front's.
 */
export interface Connections {
  /**
   * Opens the Unix socket, for its owner and the group of its directory. The app must be listening on its port already.
   * @throws {Error} with `code` EADDRINUSE if a process answers there, or something other than a socket is there
   */
  openSocket(path: string): Promise<void>;
  /** Whether a connection came through the Unix socket. */
  isFromSocket(connection: Duplex): boolean;
  /** The caller has authenticated: this connection is no longer closed for new ones. */
  trust(connection: Duplex): void;
}

export interface ConnectionLimits {
  /** Most connections on the port, and most on the Unix socket. */
  readonly max: number;
  /** Whether callers authenticate by a token; without one, a request under way counts as authenticated. */
  readonly hasToken: boolean;
}

/**
 * Limits an app's connections, and decorates it with them as `connections`.
 *
 * A full port refuses no client: the oldest unauthenticated connection is closed for a new one. A client that opens
 * thousands of connections and sends nothing, or half a request, loses its own; a caller with the token only needs time
 * for its headers.
 */
export function limitConnections(app: FastifyInstance, { max, hasToken }: ConnectionLimits): void {
  const fromSocket = new WeakSet<Duplex>();
  /** In the order in which they are closed for new ones. */
  const untrusted = new Set<Duplex>();
  let open = 0;
  let socketServer: Server | undefined;

  app.server.on("connection", (connection: Socket) => {
    if (fromSocket.has(connection)) return;
    open += 1;
    untrusted.add(connection);
    connection.once("close", () => {
      open -= 1;
      untrusted.delete(connection);
    });
    const [oldest] = untrusted;
    if (open <= max || oldest === undefined) return;
    untrusted.delete(oldest);
    oldest.destroy();
  });
  if (!hasToken) app.server.on("request", (request, response) => keepWhileAnswered(untrusted, request, response));

  app.decorate("connections", {
    isFromSocket: (connection) => fromSocket.has(connection),
    trust: (connection) => void untrusted.delete(connection),
    async openSocket(path) {
      await removeAbandoned(path);
      // As Node's own HTTP server does: a client that has sent its request may close its side.
      const server = createServer({ allowHalfOpen: true, noDelay: true }, (connection) => {
        fromSocket.add(connection);
        app.server.emit("connection", connection);
      });
      server.maxConnections = max;
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(path, resolve);
      });
      socketServer = server;
      await chown(path, -1, (await stat(dirname(path))).gid);
      await chmod(path, 0o660);
    },
  } satisfies Connections);

  app.addHook("preClose", async () => {
    if (socketServer === undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    socketServer.close(() => resolve());
    app.server.closeIdleConnections();
    await promise;
  });
}

/** A request that has arrived in full is kept while it is answered; one that is still arriving is not. */
function keepWhileAnswered(untrusted: Set<Duplex>, request: IncomingMessage, response: ServerResponse): void {
  const { socket, headers } = request;
  const keep = (): void => {
    if (!untrusted.delete(socket)) return;
    response.once("close", () => {
      if (!socket.destroyed) untrusted.add(socket);
    });
  };
  const hasBody = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  if (hasBody) request.once("end", keep);
  else keep();
}

/** Removes the socket of a turnd that was killed; a running one answers on it. */
async function removeAbandoned(path: string): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (found === undefined) return;
  const isAbandoned = found.isSocket() && (await isRefused(path));
  if (!isAbandoned) throw Object.assign(new Error(`${path} is in use`), { code: "EADDRINUSE", syscall: "listen" });
  await rm(path);
}

async function isRefused(path: string): Promise<boolean> {
  const attempt = connect(path);
  try {
    await once(attempt, "connect");
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ECONNREFUSED";
  } finally {
    attempt.destroy();
  }
}
