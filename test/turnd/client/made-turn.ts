import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { LoggedEvent } from "../../../src/turnd/protocol/index.ts";

/** The lines of a turn that says these texts, as turnd logs them: the last is `turn.ended`, with the digest of the others. */
export function makeTurn(texts: readonly string[]): string[] {
  const lines = texts.map((text, index) =>
    line(index + 1, { type: "message", data: { message_id: `m${index}`, text } }),
  );
  const digest = createHash("sha256")
    .update(lines.map((each) => `${each}\n`).join(""))
    .digest("hex");
  const data = {
    status: "completed",
    output: texts.at(-1) ?? null,
    resumed: false,
    degraded: false,
    counts: { events: lines.length + 1, records: 0, unknown: 0, tools: 0, retries: 0 },
    duration_ms: 1,
    digest,
  } as const;
  return [...lines, line(lines.length + 1, { type: "turn.ended", data })];
}

type Said = Pick<LoggedEvent, "type" | "data">;

function line(seq: number, { type, data }: Said): string {
  const ids = { turn_id: "turn-1", session_id: "session-1", executor: "cli-b" };
  return JSON.stringify({ v: 1, seq, at: "2026-01-01T00:00:00.000Z", ...ids, type, data });
}

/** A line as turnd sends it on a stream. */
export function frame(text: string): string {
  const { seq, type }: { seq: number; type: string } = JSON.parse(text);
  return `id: ${seq}\nevent: ${type === "turn.ended" ? "end" : type}\ndata: ${text}\n\n`;
}

/** Where a request for events wants to go on. */
export function afterOf({ headers }: IncomingMessage): number {
  return Number(headers["last-event-id"] ?? 0);
}

/** Answers a request for events from these lines, as turnd does for a turn that has ended. */
export function sendTurn(lines: readonly string[], request: IncomingMessage, response: ServerResponse): void {
  const rest = lines.slice(afterOf(request));
  if (afterOf(request) > lines.length) {
    const detail = { code: "cursor_beyond_end", message: "beyond", last_seq: lines.length };
    response.writeHead(416, { "content-type": "application/json" }).end(JSON.stringify({ detail }));
  } else if (rest.length === 0) {
    response.writeHead(204).end();
  } else if (request.headers.accept === "text/event-stream") {
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" }).end(rest.map(frame).join(""));
  } else {
    response.writeHead(200, { "content-type": "application/x-ndjson" }).end(rest.map((each) => `${each}\n`).join(""));
  }
}

/** A server of the test's own; what it has open is closed when the test is over. */
export async function answering(
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<string> {
  // What an answer throws fails the test that is running.
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A refusal of turnd's. */
export function refuse(
  response: ServerResponse,
  [status, code]: readonly [number, string],
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify({ detail: { code, message: "not now" } }));
}
