import { createHash } from "node:crypto";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { LoggedEvent, TurnAdmission, TurnResult } from "../../src/turnd/protocol/index.ts";
import { expectThat } from "./expect-that.ts";
import { showEvent } from "./show-event.ts";

/** An ended turn as a client saw it. */
export interface SeenTurn {
  readonly events: readonly LoggedEvent[];
  readonly result: TurnResult;
}

/** Posts a turn, prints its events as they arrive over SSE, and proves from the digest that none is missing. */
export async function runTurn(url: string, body: object, signal: AbortSignal): Promise<SeenTurn> {
  const startedAt = performance.now();
  const admitted = await call(`${url}/v1/turns`, signal, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expectThat(admitted.status === 202, "the turn is admitted with 202", `${admitted.status} ${admitted.text}`);
  const { turn_id: turnId, events_url: eventsUrl } = TurnAdmission.parse(JSON.parse(admitted.text));
  const events: LoggedEvent[] = [];
  const hash = createHash("sha256");
  for await (const line of readEvents(new URL(eventsUrl, url), signal)) {
    const event = LoggedEvent.parse(JSON.parse(line));
    const elapsed = ((performance.now() - startedAt) / 1000).toFixed(2).padStart(6);
    console.log(`  ${elapsed} s ${String(event.seq).padStart(3)}  ${showEvent(event)}`);
    events.push(event);
    if (event.type === "turn.ended") {
      expectThat(
        event.data.digest === hash.digest("hex"),
        "the digest covers every event that arrived",
        "another digest",
      );
      break;
    }
    hash.update(`${line}\n`);
  }
  const result = await call(`${url}/v1/turns/${turnId}/result`, signal);
  expectThat(result.status === 200, "the result is there once the turn has ended", `${result.status} ${result.text}`);
  return { events, result: TurnResult.parse(JSON.parse(result.text)) };
}

async function call(
  url: string,
  signal: AbortSignal,
  init: RequestInit = {},
): Promise<{ status: number; text: string }> {
  const response = await fetch(url, { ...init, signal });
  return { status: response.status, text: await response.text() };
}

async function* readEvents(url: URL, signal: AbortSignal): AsyncIterable<string> {
  const response = await fetch(url, { headers: { accept: "text/event-stream" }, signal });
  if (response.body === null) throw new Error(`${url.href} answered ${response.status} without a body`);
  const messages = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  for await (const message of messages) {
    if (message.event === "error") throw new Error(`the event stream failed: ${message.data}`);
    yield message.data;
  }
}
