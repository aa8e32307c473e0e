import { getEventListeners } from "node:events";
import type { ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { TurndHistoryError, TurndProtocolError, TurndUnreachable } from "../../../src/turnd/client/errors.ts";
import type { FollowOptions } from "../../../src/turnd/client/follow.ts";
import type { ReadEvent } from "../../../src/turnd/client/parse-event.ts";
import { createTurndClient } from "../../../src/turnd/client/turnd-client.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { afterOf, answering, frame, makeTurn, refuse, sendTurn } from "./made-turn.ts";

const STREAM = { "content-type": "text/event-stream" };
const TEXTS = Array.from({ length: 8 }, (_, index) => `text ${index}`);

/** Follows to the end. */
async function collect(baseUrl: string, options: FollowOptions = {}) {
  const following = createTurndClient({ baseUrl }).follow("turn-1", options);
  const events: ReadEvent[] = [];
  for await (const event of following) events.push(event);
  return { events, following };
}

test("a turn that was read whole is proved", async () => {
  const baseUrl = await answering((request, response) => sendTurn(makeTurn(TEXTS), request, response));
  const { events, following } = await collect(baseUrl);
  expect(events).toHaveLength(9);
  expect(following.isProved).toBe(true);
});

test("a reader that starts anew with a stored cursor goes on there, and proves the whole", async () => {
  const lines = makeTurn(TEXTS);
  const baseUrl = await answering((request, response) => sendTurn(lines, request, response));
  for (let stop = 1; stop < lines.length; stop += 1) {
    const first = createTurndClient({ baseUrl }).follow("turn-1");
    for await (const { seq } of first) if (seq === stop) break;
    expect(first.afterSeq).toBe(stop);
    const { events, following } = await collect(baseUrl, { after: first.cursor });
    expect(events.map(({ seq }) => seq)).toEqual(lines.slice(stop).map((_, index) => stop + index + 1));
    expect(following.isProved).toBe(true);
  }
});

test("to iterate again after a break goes on behind the event that was held", async () => {
  const baseUrl = await answering((request, response) => sendTurn(makeTurn(TEXTS), request, response));
  const following = createTurndClient({ baseUrl }).follow("turn-1");
  for await (const { seq } of following) if (seq === 3) break;
  const rest: number[] = [];
  for await (const { seq } of following) rest.push(seq);
  expect(rest).toEqual([4, 5, 6, 7, 8, 9]);
  expect(following.isProved).toBe(true);
});

test("a bare seq and verify: false follow without a proof", async () => {
  const baseUrl = await answering((request, response) => sendTurn(makeTurn(TEXTS), request, response));
  expect((await collect(baseUrl, { after: 3 })).following.isProved).toBe(false);
  expect((await collect(baseUrl, { verify: false })).following.isProved).toBe(false);
});

test.each([undefined, 4])("a history that was changed underneath is found out (after %j)", async (changedAt) => {
  const [before, now] = [makeTurn(TEXTS), makeTurn(TEXTS.map((text) => text.toUpperCase()))];
  let lines = before;
  const baseUrl = await answering((request, response) => sendTurn(lines, request, response));
  const following = createTurndClient({ baseUrl }).follow("turn-1");
  if (changedAt === undefined) lines = [...now.slice(0, 3), ...before.slice(3)];
  else for await (const { seq } of following) if (seq === changedAt) break;
  if (changedAt !== undefined) lines = now;
  const seen: string[] = [];
  const read = async (): Promise<void> => {
    for await (const { type } of createTurndClient({ baseUrl }).follow("turn-1", { after: following.cursor }))
      seen.push(type);
  };
  await expect(read()).rejects.toMatchObject({ name: "TurndHistoryError", reason: "changed", afterSeq: 8 });
  expect(seen).not.toContain("turn.ended");
});

test("a turn that has become shorter, and one that was removed, are said to be so", async () => {
  const short = await answering((request, response) => sendTurn(makeTurn(["x"]), request, response));
  await expect(collect(short, { after: 7 })).rejects.toMatchObject({ reason: "shorter", afterSeq: 7 });
  const none = await answering((_request, response) => refuse(response, [404, "turn_not_found"]));
  await expect(collect(none, { after: 7 })).rejects.toMatchObject({ reason: "removed", afterSeq: 7 });
  await expect(collect(none)).rejects.toMatchObject({ name: "ProblemError", code: "turn_not_found" });
});

test.each([
  ["left out", (lines: string[]) => lines.toSpliced(2, 1)],
  ["sent twice", (lines: string[]) => lines.toSpliced(2, 0, lines[1] ?? "")],
])("an event that stays %s is a gap, said with the place", async (_name, broken) => {
  let asked = 0;
  const baseUrl = await answering((request, response) => {
    asked += 1;
    const after = afterOf(request);
    const rest = broken(makeTurn(TEXTS)).filter((text) => JSON.parse(text).seq > after || after === 0);
    response.writeHead(200, STREAM).end((after === 2 ? [frame(makeTurn(TEXTS)[3] ?? "")] : rest.map(frame)).join(""));
  });
  const fault: unknown = await collect(baseUrl).catch((error: unknown) => error);
  expect(fault).toBeInstanceOf(TurndHistoryError);
  expect(fault).toMatchObject({ reason: "gap", afterSeq: 2 });
  expect(asked).toBe(3);
});

test("a connection that ends within any byte of a character loses nothing", async () => {
  const lines = makeTurn(["é", "漢字", "🙂🙂", "end"]);
  const bytes = Buffer.from(lines.map(frame).join(""));
  const inCharacters = [...bytes.keys()].filter((at) => ((bytes[at] ?? 0) & 0xc0) === 0x80);
  expect(inCharacters.length).toBeGreaterThan(8);
  for (const cut of inCharacters) {
    let connections = 0;
    const baseUrl = await answering((request, response) => {
      connections += 1;
      if (connections > 1) sendTurn(lines, request, response);
      else response.writeHead(200, STREAM).write(bytes.subarray(0, cut), () => response.destroy());
    });
    const { events, following } = await collect(baseUrl);
    expect(events.slice(0, 3)).toMatchObject([
      { data: { text: "é" } },
      { data: { text: "漢字" } },
      { data: { text: "🙂🙂" } },
    ]);
    expect(following.isProved).toBe(true);
  }
});

test("bytes that come one by one are read as if they had come at once", async () => {
  const bytes = Buffer.from(makeTurn(["é🙂"]).map(frame).join(""));
  const baseUrl = await answering(async (_request, response) => {
    response.writeHead(200, STREAM);
    response.socket?.setNoDelay(true);
    for (const byte of bytes) {
      response.write(Uint8Array.of(byte));
      await setImmediate();
    }
    response.end();
  });
  expect((await collect(baseUrl)).following.isProved).toBe(true);
});

test("a page in place of the stream is a fault, not a stream in which nothing happens", async () => {
  const baseUrl = await answering((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>\n\n");
  });
  await expect(collect(baseUrl)).rejects.toBeInstanceOf(TurndProtocolError);
});

test("a stream that a proxy keeps back is read by asking again and again", async () => {
  const lines = makeTurn(TEXTS);
  let there = 3;
  const kinds: string[] = [];
  const baseUrl = await answering((request, response) => {
    const kind = request.headers.accept === "text/event-stream" ? "stream" : "poll";
    kinds.push(kind);
    // The head comes, and no byte of the body before its end.
    if (kind === "stream") response.writeHead(200, STREAM).flushHeaders();
    else {
      const rest = lines.slice(afterOf(request), there);
      response.writeHead(200, { "content-type": "application/x-ndjson" }).end(rest.map((each) => `${each}\n`).join(""));
      there += 3;
    }
  });
  const { events, following } = await collect(baseUrl, { silentAfterMs: 200 });
  expect(events).toHaveLength(9);
  expect(following.isProved).toBe(true);
  expect(kinds).toEqual(["stream", "poll", "poll", "poll"]);
});

test("a reader that wants no stream asks for the events again and again", async () => {
  const lines = makeTurn(TEXTS);
  let there = 3;
  const kinds: (string | undefined)[] = [];
  const baseUrl = await answering((request, response) => {
    kinds.push(request.headers.accept);
    const rest = lines.slice(afterOf(request), there);
    response.writeHead(200, { "content-type": "application/x-ndjson" }).end(rest.map((each) => `${each}\n`).join(""));
    there += 6;
  });
  const { events, following } = await collect(baseUrl, { poll: true });
  expect(events).toHaveLength(9);
  expect(following.isProved).toBe(true);
  expect(kinds).toEqual(["application/x-ndjson", "application/x-ndjson"]);
});

test("Retry-After of a refused stream is waited for", async () => {
  const times: number[] = [];
  const baseUrl = await answering((request, response) => {
    times.push(performance.now());
    if (times.length === 1) refuse(response, [429, "too_many_streams"], { "retry-after": "1" });
    else sendTurn(makeTurn(TEXTS), request, response);
  });
  await collect(baseUrl);
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(900);
});

test("a turnd that says for good that it cannot is given up after the given time", async () => {
  const baseUrl = await answering((_request, response) =>
    refuse(response, [503, "shutting_down"], { "retry-after": "99999999999" }),
  );
  await expect(collect(baseUrl, { lostAfterMs: 400 })).rejects.toBeInstanceOf(TurndUnreachable);
});

/** A stream that sends this and stays open; reports when its client has gone. */
async function openStream(text: string) {
  const closed = Promise.withResolvers<void>();
  const baseUrl = await answering((_request, response) => {
    response.once("close", () => closed.resolve());
    response.writeHead(200, STREAM).write(text);
  });
  return { baseUrl, closed: closed.promise };
}

test("to leave the loop closes the connection", async () => {
  const { baseUrl, closed } = await openStream(makeTurn(TEXTS).slice(0, 3).map(frame).join(""));
  for await (const { seq } of createTurndClient({ baseUrl }).follow("turn-1")) if (seq === 2) break;
  await closed;
});

test("an error of the caller's within the loop closes the connection", async () => {
  const { baseUrl, closed } = await openStream(makeTurn(TEXTS).slice(0, 3).map(frame).join(""));
  const read = async (): Promise<void> => {
    for await (const { seq } of createTurndClient({ baseUrl }).follow("turn-1"))
      if (seq === 2) throw new Error("a fault of the caller");
  };
  await expect(read()).rejects.toThrow("a fault of the caller");
  await closed;
});

test.each([
  ["before the head", (): void => undefined],
  ["before the first byte", (response: ServerResponse) => response.writeHead(200, STREAM).flushHeaders()],
  [
    "within an event",
    (response: ServerResponse) => void response.writeHead(200, STREAM).write("id: 1\nevent: message\ndata: {"),
  ],
  [
    "in the wait for the next try",
    (response: ServerResponse) => refuse(response, [503, "shutting_down"], { "retry-after": "20" }),
  ],
])("an abort %s ends a following with its reason, and leaves nothing behind", async (_name, hang) => {
  const asked = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const baseUrl = await answering((_request, response) => {
    response.once("close", () => closed.resolve());
    hang(response);
    asked.resolve();
  });
  const controller = new AbortController();
  const reason = new Error("enough");
  const read = collect(baseUrl, { signal: controller.signal }).catch((error: unknown) => error);
  await asked.promise;
  controller.abort(reason);
  expect(await read).toBe(reason);
  await closed.promise;
  expect(getEventListeners(controller.signal, "abort")).toEqual([]);
});

test("a long wait leaves no listener on the caller's signal", async () => {
  let asked = 0;
  const baseUrl = await answering((request, response) => {
    asked += 1;
    if (asked <= 4) response.destroy();
    else sendTurn(makeTurn(TEXTS), request, response);
  });
  const controller = new AbortController();
  await collect(baseUrl, { signal: controller.signal });
  await createTurndClient({ baseUrl })
    .turn("t", { signal: controller.signal })
    .catch(() => undefined);
  expect(getEventListeners(controller.signal, "abort")).toEqual([]);
});

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

function heapNow(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test("50 000 events are read with the memory of a few, and a reader that holds one stops the sender", async () => {
  const frames = makeTurn(Array.from({ length: 50_000 }, (_, index) => `${index} ${"x".repeat(400)}`)).map(frame);
  const pieces = Array.from({ length: 501 }, (_, index) => frames.slice(index * 100, index * 100 + 100).join(""));
  let sent = 0;
  const baseUrl = await answering(async (_request, response) => {
    response.writeHead(200, STREAM);
    for (const piece of pieces) {
      if (response.destroyed) return;
      sent += 1;
      if (!response.write(piece)) await new Promise((resolve) => response.once("drain", resolve));
    }
    response.end();
  });
  const following = createTurndClient({ baseUrl }).follow("turn-1");
  const heaps: number[] = [];
  for await (const { seq } of following) {
    if (seq === 1) {
      // The sender stands still: what it sends has no place to go.
      await waitFor("the sender to stop", async () => {
        const before = sent;
        await new Promise((resolve) => setTimeout(resolve, 300));
        return sent === before;
      });
      expect(sent).toBeLessThan(pieces.length / 2);
    }
    if (seq % 10_000 === 0) heaps.push(heapNow());
  }
  expect(following.isProved).toBe(true);
  expect(following.afterSeq).toBe(50_001);
  expect(Math.max(...heaps) - Math.min(...heaps)).toBeLessThan(8_000_000);
});
