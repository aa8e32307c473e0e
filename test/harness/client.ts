import { createParser } from "eventsource-parser";
import type { LoggedEvent, TurnAdmission, TurnResult } from "../../src/turnd/protocol/index.ts";

/** One frame of an event stream. */
export interface Frame {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string;
}

/** A client of `/v1`. */
export interface Client {
  readonly url: string;
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  admit(body: Record<string, unknown>): Promise<TurnAdmission>;
  /** Runs a turn to its end, and until what it left in its session's home is removed. */
  run(body: Record<string, unknown>): Promise<TurnResult>;
  events(turnId: string): Promise<LoggedEvent[]>;
  /** Follows a turn's events until its end, a break, or the signal. */
  follow(turnId: string, options?: { afterSeq?: number; signal?: AbortSignal }): AsyncGenerator<Frame>;
}

/** An answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // Tests look into bodies of every shape; each asserts what it reads.
  readonly body: ReturnType<typeof JSON.parse>;
  readonly text: string;
}

/**
 * A client of the daemon at a URL.
 *
 * @param always - headers that every request carries
 */
export function createClient(url: string, always: Readonly<Record<string, string>> = {}): Client {
  async function request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...always, ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("application/json") === true;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : undefined, text };
  }

  async function admit(body: Record<string, unknown>): Promise<TurnAdmission> {
    const answer = await request("POST", "/v1/turns", body);
    if (answer.status !== 202 && answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return answer.body;
  }

  async function* follow(
    turnId: string,
    { afterSeq, signal }: { afterSeq?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<Frame> {
    const response = await fetch(`${url}/v1/turns/${turnId}/events`, {
      headers: {
        ...always,
        accept: "text/event-stream",
        ...(afterSeq === undefined ? {} : { "last-event-id": String(afterSeq) }),
      },
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.status === 204) return;
    if (!response.ok || response.body === null) throw new Error(`${response.status} ${await response.text()}`);
    const frames: Frame[] = [];
    const parser = createParser({ onEvent: ({ id, event, data }) => frames.push({ id, event, data }) });
    const decoder = new TextDecoder();
    for await (const chunk of response.body) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      yield* frames.splice(0);
    }
  }

  return {
    url,
    request,
    admit,
    follow,
    async run(body) {
      const { turn_id } = await admit(body);
      for await (const frame of follow(turn_id)) if (frame.event === "end") break;
      const { body: result } = await request("GET", `/v1/turns/${turn_id}/result`);
      // Answered only then, with or without a diff.
      await request("GET", `/v1/turns/${turn_id}/diff`);
      return result;
    },
    async events(turnId) {
      const { text } = await request("GET", `/v1/turns/${turnId}/events`);
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line));
    },
  };
}
