// One terminal's connection: a ticket, a WebSocket, and both again when it breaks. Does not know the page.

import { loginHeaders } from "./login.js";

/** Close codes of the data plane; see src/turnd/daemon/terminal/viewer.ts. */
const NORMAL = 1000;
const REFUSED = 4002;

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;
/** Longest waits for a server that has gone without closing: for its answer, and for the shell it then attaches. */
const TICKET_MS = 10_000;
const ATTACH_MS = 30_000;

/**
 * A refusal that does not change when the page tries again.
 */
export class RefusedError extends Error {
  /** @param {string} code a code of the API @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/**
 * Keeps a terminal connected, by one connection at a time: a new try ends the one before, which reports nothing more.
 *
 * @param {string | undefined} sessionId of a terminal; undefined for a new one
 * @param {object} on callbacks: opened(sessionId), attached(message), output(bytes), resized(message), ended(message), down(retryMs),
 *   refused(error)
 * @param {() => {cols: number, rows: number}} size what a connection opens with
 */
export function connect(sessionId, on, size) {
  let socket;
  /** Set while the next try is waited for. */
  let timer;
  let attempt = 0;
  let failures = 0;
  let wantsRestart = false;

  async function open() {
    attempt += 1;
    const mine = attempt;
    clearTimeout(timer);
    timer = undefined;
    socket?.close();
    socket = undefined;
    try {
      const { ticket, session_id: opened } = await fetchTicket(sessionId);
      if (mine !== attempt) return;
      sessionId = opened;
      on.opened(opened);
      follow(new WebSocket(webSocketUrl(), ["turnd.terminal", `ticket.${ticket}`]));
    } catch (error) {
      if (mine !== attempt) return;
      if (error instanceof RefusedError) on.refused(error);
      else retry();
    }
  }

  function follow(opened) {
    let hasEnded = false;
    socket = opened;
    opened.binaryType = "arraybuffer";
    const overdue = setTimeout(() => {
      if (socket !== opened) return;
      socket = undefined;
      opened.close();
      retry();
    }, ATTACH_MS);
    opened.addEventListener("close", () => clearTimeout(overdue));
    const listen = (type, listener) =>
      opened.addEventListener(type, (event) => {
        if (socket === opened) listener(event);
      });
    listen("open", () => {
      send({ type: "open", ...size(), restart: wantsRestart });
      wantsRestart = false;
    });
    listen("message", ({ data }) => {
      if (data instanceof ArrayBuffer) return on.output(new Uint8Array(data));
      const message = JSON.parse(data);
      clearTimeout(overdue);
      if (message.type === "attached") failures = 0;
      if (message.type === "ended") hasEnded = true;
      if (message.type === "refused") on.refused(new RefusedError(message.code, message.message));
      else on[message.type](message);
    });
    listen("close", ({ code }) => {
      socket = undefined;
      if ((code === NORMAL && hasEnded) || code === REFUSED) return;
      retry();
    });
  }

  function retry() {
    const waitMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
    failures += 1;
    on.down(waitMs);
    timer = setTimeout(open, waitMs);
  }

  function send(message) {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  }

  return {
    /** Connects, for the first time or after a login. */
    open: () => void open(),
    /** @param {Uint8Array} bytes */
    type(bytes) {
      if (socket?.readyState === WebSocket.OPEN) socket.send(bytes);
    },
    resize: () => send({ type: "resize", ...size() }),
    /** Starts a new shell where the old one has ended. */
    restart() {
      wantsRestart = true;
      void open();
    },
    /** Ends it until it is opened again. */
    close() {
      attempt += 1;
      clearTimeout(timer);
      timer = undefined;
      socket?.close();
      socket = undefined;
    },
    /** Tries again now, if it waits to. */
    hurry() {
      if (timer !== undefined) void open();
    },
  };
}

async function fetchTicket(sessionId) {
  const answer = await fetch("/terminal/tickets", {
    method: "POST",
    headers: { "content-type": "application/json", ...loginHeaders() },
    body: JSON.stringify({ session_id: sessionId }),
    signal: AbortSignal.timeout(TICKET_MS),
  });
  const body = await answer.json();
  if (answer.ok) return body;
  const { code, message } = body.detail ?? {};
  if (answer.status >= 500) throw new Error(message);
  throw new RefusedError(code, message);
}

function webSocketUrl() {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${location.host}/terminal/ws`;
}
