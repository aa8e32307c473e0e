import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { REPOSITORY } from "../harness/temporary.ts";

/** The page's own script, which has no types. */
const { connect } = (await import(join(REPOSITORY, "sandbox/terminal/connection.js"))) as {
  connect(sessionId: string, on: object, size: () => { cols: number; rows: number }): { open(): void };
};

/** A server that has gone without closing: it neither opens nor ends a connection. */
class SilentSocket extends EventTarget {
  static readonly OPEN = 1;
  static readonly made: SilentSocket[] = [];
  readyState = 0;
  isClosed = false;

  constructor() {
    super();
    SilentSocket.made.push(this);
  }

  send(): void {}

  close(): void {
    this.isClosed = true;
  }

  /** The server's message. */
  says(message: object): void {
    this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(message) }));
  }
}

const down = vi.fn<(retryMs: number) => void>();
const callbacks = {
  opened: vi.fn<() => void>(),
  attached: vi.fn<() => void>(),
  output: vi.fn<() => void>(),
  resized: vi.fn<() => void>(),
  ended: vi.fn<() => void>(),
  refused: vi.fn<() => void>(),
  down,
};

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", SilentSocket);
  vi.stubGlobal("location", { protocol: "http:", host: "127.0.0.1:1" });
  vi.stubGlobal("localStorage", { getItem: () => null });
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ ticket: "once", session_id: "a" })));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.clearAllMocks();
  SilentSocket.made.length = 0;
});

test("a connection that is never opened, or attaches no shell, is given up and tried again", async () => {
  connect("a", callbacks, () => ({ cols: 80, rows: 24 })).open();
  await vi.advanceTimersByTimeAsync(31_000);
  expect(down).toHaveBeenCalledOnce();
  expect(SilentSocket.made.map((socket) => socket.isClosed)).toEqual([true, false]);

  SilentSocket.made[1]?.dispatchEvent(new Event("open"));
  await vi.advanceTimersByTimeAsync(31_000);
  expect(down).toHaveBeenCalledTimes(2);
});

test("one whose shell is attached stays for as long as it is silent", async () => {
  connect("a", callbacks, () => ({ cols: 80, rows: 24 })).open();
  await vi.advanceTimersByTimeAsync(0);
  SilentSocket.made[0]?.says({ type: "attached" });
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(down).not.toHaveBeenCalled();
  expect(SilentSocket.made).toHaveLength(1);
});
