import { setTimeout as delay } from "node:timers/promises";
import { createParser } from "eventsource-parser";
import type { Answer } from "../../harness/client.ts";
import type { Random } from "./random.ts";

/** One event as a reader got it. */
export interface Seen {
  readonly seq: number;
  readonly data: string;
}

/** Clients of services that come and go. */
export interface Crowd {
  /** Asks until a process answers, or the signal aborts; a request that carries its id may be sent twice. */
  ask(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Follows a run to its end over connections that are cut on purpose, each to another service. */
  follow(runId: string): Promise<Seen[]>;
}

export interface CrowdOptions {
  readonly urls: () => readonly string[];
  readonly token: string;
  readonly random: Random;
  readonly signal: AbortSignal;
}

const ANSWER_MS = 15_000;
const AGAIN_MS = 200;

export function createCrowd({ urls, token, random, signal }: CrowdOptions): Crowd {
  const headers = { authorization: `Bearer ${token}` };

  async function pickUrl(): Promise<string> {
    for (;;) {
      signal.throwIfAborted();
      const running = urls();
      if (running.length > 0) return random.pick(running);
      await delay(AGAIN_MS);
    }
  }

  return {
    async ask(method, path, body) {
      for (;;) {
        const url = await pickUrl();
        try {
          const response = await fetch(`${url}${path}`, {
            method,
            headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
            signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
          });
          const text = await response.text();
          // 503: away for a while. 408: put to sleep while the request came. Any other status is an answer.
          if (response.status !== 503 && response.status !== 408) {
            return { status: response.status, headers: response.headers, body: JSON.parse(text), text };
          }
        } catch {
          signal.throwIfAborted();
        }
        await delay(AGAIN_MS);
      }
    },
    async follow(runId) {
      const seen: Seen[] = [];
      for (;;) {
        const url = await pickUrl();
        const cut = new AbortController();
        let left = 1 + random.below(12);
        let isOver = false;
        try {
          const response = await fetch(`${url}/api/agent/runs/${runId}/events`, {
            headers: { ...headers, accept: "text/event-stream", "last-event-id": String(seen.at(-1)?.seq ?? 0) },
            signal: AbortSignal.any([signal, cut.signal, AbortSignal.timeout(ANSWER_MS * 2)]),
          });
          if (response.status === 204) return seen;
          if (!response.ok || response.body === null) throw new Error(`${response.status}`);
          const parser = createParser({
            onEvent({ id, event, data }) {
              if (left <= 0) return;
              left -= 1;
              seen.push({ seq: Number(id), data });
              if (event === "end") isOver = true;
            },
          });
          const decoder = new TextDecoder();
          for await (const chunk of response.body) {
            parser.feed(decoder.decode(chunk, { stream: true }));
            if (isOver || left <= 0) break;
          }
        } catch {
          signal.throwIfAborted();
          await delay(AGAIN_MS);
        } finally {
          cut.abort();
        }
        if (isOver) return seen;
      }
    },
  };
}
