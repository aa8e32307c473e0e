import type { RunEvents } from "../runs/read/events.ts";
import { showRequest } from "../runs/read/request-view.ts";
import type { RunRequest } from "../protocol/runs.ts";
import type { Storage } from "../storage/storage.ts";
import { viewQueue } from "../threads/queue-view.ts";
import type { Frame } from "./streams.ts";

/** A request's present state and each change of it, until it waits no more: a level, not a log. */
export async function* followRequest(
  storage: Storage,
  events: RunEvents,
  pk: number,
  signal: AbortSignal,
): AsyncGenerator<readonly Frame[]> {
  let last: string | undefined;
  while (!signal.aborted) {
    const row = await storage.db.selectFrom("run_request").selectAll().where("pk", "=", pk).executeTakeFirstOrThrow();
    const armed = events.arm("svc_requests", String(row.thread_pk));
    try {
      // Again, behind the listening: what changed in between is seen now.
      const now = await storage.db.selectFrom("run_request").selectAll().where("pk", "=", pk).executeTakeFirstOrThrow();
      const request = await showRequest(storage.db, now);
      const { status } = await viewQueue(storage.db, now.thread_pk);
      const { event, payload } = describeState(request, status === "paused");
      const key = JSON.stringify([event, payload]);
      if (key !== last) {
        last = key;
        const { run_id, thread_id, request_id } = request;
        yield [{ id: now.revision, event, data: { schema_version: 1, run_id, thread_id, request_id, event, payload } }];
      }
      if (now.status !== "queued") return;
      await armed.wait(signal);
    } finally {
      armed.disarm();
    }
  }
}

function describeState(
  request: RunRequest,
  isPaused: boolean,
): { event: string; payload: Readonly<Record<string, unknown>> } {
  const { request_id, status, queue_position: position, run_id, stream_url, error } = request;
  switch (status) {
    case "queued":
      if (!isPaused) return { event: "queued", payload: { request_id, status, position } };
      return {
        event: "paused",
        payload: {
          request_id,
          position,
          continue_url: `/api/agent/thread/${encodeURIComponent(request.thread_id)}/requests/continue`,
        },
      };
    case "dispatched":
      return { event: "run_created", payload: { request_id, run_id, stream_url } };
    case "cancelled":
    case "rejected":
    case "failed":
      return { event: status, payload: { request_id, status, ...(error === null ? {} : { error }) } };
  }
}
