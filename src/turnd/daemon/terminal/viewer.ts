import type { RawData, WebSocket } from "ws";
import { ProblemError, ViewerMessage, type TerminalMessage } from "../../protocol/index.ts";
import type { TerminalLimits } from "./terminal-parts.ts";
import type { Shell } from "./shell.ts";
import type { Shells } from "./shells.ts";

export interface ViewerOptions {
  readonly shells: Shells;
  readonly limits: TerminalLimits;
}

/** Sent in one message. */
const CHUNK_BYTES = 65_536;
/** Limit for the first message: a connection without one is closed. */
const OPENING_MS = 30_000;
/** Private codes of the close frame: the page reconnects after the first and waits for a person after the second. */
const TOO_SLOW = 4_001;
const REFUSED = 4_002;
const NORMAL = 1_000;

/**
 * Serves one viewer of a shell: reads its size and keys; sends scrollback, output and the end.
 *
 * A viewer costs its place in the shell's ring and one chunk under way. Law: every wait is bounded. A shell waits for a
 * viewer that reads slowly; one that reads nothing for `stallMs` is dropped and gets the scrollback when it reconnects.
 * Resolves when the connection has ended.
 */
export async function serveViewer(socket: WebSocket, id: string, { shells, limits }: ViewerOptions): Promise<void> {
  const gone = new AbortController();
  socket.on("close", () => gone.abort());
  // An error of a connection ends it; `close` follows.
  socket.on("error", () => socket.terminate());
  const heartbeat = startHeartbeat(socket, limits.heartbeatMs);
  const inbox = createInbox(socket);
  try {
    const opening = parse(await inbox.first(OPENING_MS));
    if (opening?.type !== "open") return socket.close(REFUSED, "the first message must be open");
    const { shell } = await shells.open({ id, size: opening, isRestart: opening.restart });
    const viewers = shell.describe().viewers;
    if (viewers >= limits.maxViewers) {
      throw new ProblemError("too_many_viewers", `${viewers} viewers watch this shell, as many as it may have`);
    }
    if (shell.exit() === undefined) shell.resize(opening);
    inbox.handle((message) => takeMessage(shell, message));
    await sendOutput(socket, shell, { stallMs: limits.stallMs, heartbeat, gone: gone.signal });
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    send(socket, { type: "refused", code: error.code, message: error.message });
    socket.close(REFUSED, error.code);
  } finally {
    if (!gone.signal.aborted) await closed(socket, limits.stallMs);
    heartbeat.stop();
  }
}

async function takeMessage(shell: Shell, message: Message): Promise<void> {
  if (message.isBinary) {
    shell.write(message.bytes);
    return shell.drained();
  }
  const parsed = parse(message);
  if (parsed?.type === "resize") shell.resize(parsed);
}

interface SendOptions {
  readonly stallMs: number;
  readonly heartbeat: Heartbeat;
  readonly gone: AbortSignal;
}

async function sendOutput(socket: WebSocket, shell: Shell, { stallMs, heartbeat, gone }: SendOptions): Promise<void> {
  let position = shell.output.start();
  const { created_at, viewers: others } = shell.describe();
  const replayBytes = shell.output.next() - position;
  send(socket, { type: "attached", ...shell.size(), replay_bytes: replayBytes, created_at, others });
  const leave = shell.watch({
    position: () => position,
    resized: (size) => send(socket, { type: "resized", ...size }),
  });
  try {
    while (!gone.aborted) {
      await shell.grown(position, gone);
      // Only a shell that is being closed does not wait: then the rest of the ring is sent.
      if (position < shell.output.first()) return socket.close(TOO_SLOW, "output was lost; reconnect");
      const bytes = shell.output.read(position, CHUNK_BYTES);
      if (bytes.length > 0) {
        if (!(await sendBytes(socket, bytes, stallMs))) return;
        position += bytes.length;
        heartbeat.reset();
        shell.taken();
        continue;
      }
      const exit = shell.exit();
      if (exit === undefined) continue;
      send(socket, { type: "ended", exit });
      return socket.close(NORMAL, "ended");
    }
  } finally {
    leave();
  }
}

/** Resolves when the system has accepted the bytes; false when the connection has ended, or was dropped as stalled. */
function sendBytes(socket: WebSocket, bytes: Buffer, stallMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.terminate(), stallMs);
    socket.send(bytes, (error) => {
      clearTimeout(timer);
      resolve(error === undefined || error === null);
    });
  });
}

function send(socket: WebSocket, message: TerminalMessage): void {
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message));
}

interface Message {
  readonly isBinary: boolean;
  readonly bytes: Buffer;
}

interface Inbox {
  /** The first message; undefined when none came in time. */
  first(limitMs: number): Promise<Message | undefined>;
  /** Handles the other messages one after the other; meanwhile the connection is not read. */
  handle(handler: (message: Message) => Promise<void>): void;
}

/** Messages in order, read at the speed at which they are handled. */
function createInbox(socket: WebSocket): Inbox {
  const { promise: first, resolve } = Promise.withResolvers<Message | undefined>();
  const { promise: ready, resolve: setReady } = Promise.withResolvers<(message: Message) => Promise<void>>();
  let isFirst = true;
  let [work, pending] = [Promise.resolve(), 0];
  socket.on("message", (data: RawData, isBinary) => {
    const message = { isBinary, bytes: toBuffer(data) };
    if (isFirst) {
      isFirst = false;
      return resolve(message);
    }
    if (pending++ === 0) socket.pause();
    work = work
      .then(async () => (await ready)(message))
      .finally(() => {
        if (--pending === 0) socket.resume();
      });
  });
  socket.on("close", () => {
    resolve(undefined);
    setReady(async () => {});
  });
  return {
    async first(limitMs) {
      const timer = setTimeout(() => resolve(undefined), limitMs);
      const message = await first;
      clearTimeout(timer);
      return message;
    },
    handle: setReady,
  };
}

function toBuffer(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}

/** A text message of a known form; undefined for any other. */
function parse(message: Message | undefined): ViewerMessage | undefined {
  if (message === undefined || message.isBinary) return undefined;
  try {
    return ViewerMessage.safeParse(JSON.parse(message.bytes.toString("utf8"))).data;
  } catch {
    return undefined; // Not JSON: an unknown kind of client.
  }
}

interface Heartbeat {
  /** The other end is alive: it has read something. A pong may be queued behind much output on a slow line. */
  reset(): void;
  stop(): void;
}

/**
 * Drops a connection whose other end is gone without a close. While its input is not read, a pong cannot arrive: it is
 * spared.
 */
function startHeartbeat(socket: WebSocket, everyMs: number): Heartbeat {
  let isAlive = true;
  const reset = (): void => {
    isAlive = true;
  };
  socket.on("pong", reset);
  const timer = setInterval(() => {
    if (!isAlive && !socket.isPaused) return socket.terminate();
    isAlive = false;
    socket.ping();
  }, everyMs);
  return { reset, stop: () => clearInterval(timer) };
}

/** Waits for the other end's close, at most as long as a viewer may be silent. */
function closed(socket: WebSocket, limitMs: number): Promise<void> {
  if (socket.readyState === socket.CLOSED) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.terminate(), limitMs);
    socket.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
