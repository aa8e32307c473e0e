import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Logger } from "pino";
import { WebSocketServer } from "ws";
import { ProblemError } from "../../protocol/index.ts";
import type { Access } from "./access.ts";
import type { TerminalLimits } from "./terminal-parts.ts";
import { shellLabel } from "./shell-label.ts";
import type { Shells } from "./shells.ts";
import { serveViewer } from "./viewer.ts";

export interface DataPlaneOptions {
  readonly shells: Shells;
  readonly access: Access;
  readonly limits: TerminalLimits;
  readonly logger: Logger;
}

/** The WebSockets of the terminal's viewers. */
export interface DataPlane {
  /** @throws {ProblemError} unauthorized, shutting_down */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /**
   * Closes every viewer's connection (1001) and accepts no more. Resolves when they are closed, or were dropped in
   * time.
   */
  close(): Promise<void>;
}

/** A page answers at once; a turnd that has to stop has one second for all of them. */
const CLOSE_MS = 500;

/**
 * The subprotocol. The ticket stands beside it: a header is not logged like a URL, and browsers can set no other
 * header.
 */
const PROTOCOL = "turnd.terminal";
const MAX_MESSAGE_BYTES = 1_048_576;

export function createDataPlane({ shells, access, limits, logger }: DataPlaneOptions): DataPlane {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    handleProtocols: (protocols) => (protocols.has(PROTOCOL) ? PROTOCOL : false),
  });
  let isClosing = false;

  return {
    upgrade(request, socket, head) {
      // The site waits for its viewers: one that came back now would keep turnd from stopping.
      if (isClosing) throw new ProblemError("shutting_down", "turnd is shutting down");
      const ticket = /(?:^|[\s,])ticket\.([\w-]+)/.exec(request.headers["sec-websocket-protocol"] ?? "")?.[1];
      const id = ticket === undefined ? undefined : access.redeem(ticket);
      if (id === undefined) {
        throw new ProblemError("unauthorized", "a viewer needs a ticket from /terminal/tickets; each works once");
      }
      server.handleUpgrade(request, socket, head, (viewer) => {
        serveViewer(viewer, id, { shells, limits }).catch((error: unknown) => {
          logger.error({ shell: shellLabel(id), err: error }, "viewer failed");
          viewer.terminate();
        });
      });
    },
    async close() {
      isClosing = true;
      const viewers = [...server.clients];
      const gone = Promise.all(viewers.map((viewer) => new Promise((resolve) => viewer.once("close", resolve))));
      for (const viewer of viewers) viewer.close(1_001, "turnd is stopping");
      const timer = setTimeout(() => {
        for (const viewer of viewers) viewer.terminate();
      }, CLOSE_MS);
      await gone;
      clearTimeout(timer);
    },
  };
}
