import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { createParser } from "eventsource-parser";
import { z } from "zod";
import type { Caller } from "./caller.ts";
import { startWait } from "./wait-limit.ts";

/** What a reader that came to a run's end has seen. */
export interface ReadRun {
  readonly lastSeq: number;
  /** Over the data of all events. */
  readonly digest: string;
  /** Of the `end`. */
  readonly status: string;
}

const End = z.object({ payload: z.object({ status: z.string() }) });

/**
 * Reads a run's events to its `end`, over as many connections as it takes.
 *
 * @param leaveAfter - how many events of a connection are read before it is left
 * @throws at a gap, a repeat, an event behind `error` that is not `end`, or when there is no end within the limit
 */
export async function readRun(caller: Caller, runId: string, leaveAfter: () => number): Promise<ReadRun> {
  const isTooLate = startWait(caller.stage);
  const hash = createHash("sha256");
  let [lastSeq, hasError, status] = [0, false, ""];
  while (status === "") {
    if (isTooLate()) throw new Error(`run ${runId}: no end, though nothing was killed any more`);
    let left = leaveAfter();
    const connection = new AbortController();
    try {
      const url = `${caller.random.pick(caller.stage.urls)}/api/agent/runs/${runId}/events`;
      const response = await fetch(url, {
        headers: { ...caller.headers, accept: "text/event-stream", "last-event-id": String(lastSeq) },
        signal: AbortSignal.any([connection.signal, AbortSignal.timeout(60_000)]),
      });
      if (response.status >= 500) throw new TypeError(`${response.status}`);
      if (response.status !== 200 || response.body === null) {
        throw new Error(`run ${runId}: events after ${lastSeq} are answered ${response.status}`);
      }
      caller.counts.connections += 1;
      const parser = createParser({
        onEvent({ id, event, data }) {
          if (status !== "" || left <= 0) return;
          if (Number(id) !== lastSeq + 1) throw new Error(`run ${runId}: event ${id} came after ${lastSeq}`);
          if (hasError && event !== "end") throw new Error(`run ${runId}: ${event} came behind error`);
          lastSeq += 1;
          left -= 1;
          hash.update(`${data}\n`);
          hasError ||= event === "error";
          if (event === "end") status = End.parse(JSON.parse(data)).payload.status;
        },
      });
      for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
        parser.feed(text);
        if (status !== "" || left <= 0) break;
      }
    } catch (error) {
      // A process was killed, or the database with it; anything else is a fault.
      if (!(error instanceof TypeError) && !(error instanceof DOMException)) throw error;
      await delay(caller.random.between(50, 500));
    } finally {
      connection.abort();
    }
  }
  caller.counts.events += lastSeq;
  return { lastSeq, digest: hash.digest("hex"), status };
}
