import { EventSourceParserStream } from "eventsource-parser/stream";
import { RunEvent } from "../../../src/service/protocol/events.ts";
import { RunResult } from "../../../src/service/protocol/runs.ts";
import { expectThat } from "../expect-that.ts";
import { oneLine } from "../show-event.ts";
import type { ServiceClient } from "./service-client.ts";

/** A run's events and result, as a client saw them. */
export interface SeenRun {
  readonly events: readonly RunEvent[];
  readonly result: RunResult;
  readonly connections: number;
}

/**
 * Follows a run to its end, prints its events as they arrive, and reads the result of that run.
 *
 * @param cutAfter - the connection is cut after so many events, once, and resumed with `Last-Event-ID`
 */
export async function followRun(client: ServiceClient, runId: string, cutAfter: number): Promise<SeenRun> {
  const events: RunEvent[] = [];
  let connections = 0;
  while (events.at(-1)?.event !== "end") {
    connections += 1;
    const last = events.at(-1)?.seq;
    if (last !== undefined) console.log(`      … connection ${connections}, Last-Event-ID: ${last}`);
    const isFirst = connections === 1;
    for await (const event of readEvents(client, runId, last)) {
      console.log(`      ${String(event.seq).padStart(3)}  ${showRunEvent(event)}`);
      events.push(event);
      if (event.event === "end") break;
      if (isFirst && events.length === cutAfter) {
        console.log("      ✂ the connection is cut here");
        break;
      }
    }
  }
  const numbers = events.map(({ seq }) => seq);
  const isWhole = numbers.every((seq, index) => seq === index + 1);
  expectThat(isWhole, "the events count from 1 without a gap or a repeat", numbers.join(" "));
  const ends = events.filter(({ event }) => event === "end").length;
  expectThat(ends === 1, "one `end`, the last event", `${ends}`);
  const result = await client.get(RunResult, `/api/agent/runs/${runId}/result`);
  expectThat(result.final && result.run_id === runId, "the result is that of this run", JSON.stringify(result));
  const isSame = result.last_seq === events.length;
  expectThat(isSame, "the result names as many events as arrived", `${result.last_seq}, not ${events.length}`);
  return { events, result, connections };
}

async function* readEvents(
  { url, headers, signal }: ServiceClient,
  runId: string,
  lastEventId: number | undefined,
): AsyncGenerator<RunEvent> {
  const connection = new AbortController();
  const response = await fetch(`${url}/api/agent/runs/${runId}/events`, {
    headers: {
      ...headers,
      accept: "text/event-stream",
      ...(lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) }),
    },
    signal: AbortSignal.any([signal, connection.signal]),
  });
  if (!response.ok || response.body === null) throw new Error(`events of ${runId}: ${response.status}`);
  const frames = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  const reader = frames.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const event = RunEvent.parse(JSON.parse(value.data));
      expectThat(value.id === String(event.seq), `the frame's id is its event's number ${event.seq}`, String(value.id));
      yield event;
    }
  } finally {
    connection.abort();
  }
}

function showRunEvent({ event, payload }: RunEvent): string {
  const { name, items, status, ...rest } = payload;
  const text = event === "custom" ? `${String(name)} ${JSON.stringify(rest)}` : JSON.stringify(items ?? status ?? rest);
  return `${event.padEnd(9)} ${oneLine(text)}`;
}
