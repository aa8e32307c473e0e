import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { EventPage, type RunEvent } from "../../protocol/events.ts";
import { ApiProblem, BUSY_SECONDS, InputProblem } from "../../protocol/problems.ts";
import type { Auth } from "../../auth/auth.ts";
import {
  EventsQuery,
  RequestAnswer,
  RequestCancelled,
  RequestPath,
  RunAnswer,
  RunList,
  RunListQuery,
  RunPath,
  RunResult,
  Submission,
  SubmitRunBody,
} from "../../protocol/runs.ts";
import type { RunEvents } from "../../runs/read/events.ts";
import type { EventPageResult } from "../../runs/read/read-page.ts";
import { requestIdInMeta } from "../../runs/submit/read-intent.ts";
import type { Runs } from "../../runs/runs.ts";
import { slim } from "../../runs/read/slim.ts";
import { actorOf, callerOf } from "../callers.ts";
import { idempotencyKey, idempotent } from "../idempotency.ts";
import { refusals } from "../refusals.ts";
import type { Frame, Streams, StreamSource } from "../streams.ts";
import { followRequest } from "../request-stream.ts";
import { readTraceparent } from "../../../kit/http/traceparent.ts";
import type { Storage } from "../../storage/storage.ts";

export interface RunRoutesOptions {
  readonly storage: Storage;
  readonly auth: Pick<Auth, "credentials">;
  readonly runs: Runs;
  readonly events: RunEvents;
  readonly streams: Streams;
}

const tags = ["runs"];

/** Runs, requests and their events. */
export const runRoutes: FastifyPluginAsyncZod<RunRoutesOptions> = async (app, options) => {
  const { storage, runs, events } = options;

  const submit = {
    tags,
    operationId: "submitRun",
    summary: "Submit a run",
    description:
      "Idempotent for each user and `meta.request_id`. `stream_url` is there once the request has a run, `request_events_url` while it waits.",
    body: SubmitRunBody,
    response: {
      200: Submission,
      ...refusals(
        ...(["agent_not_found", "thread_not_found", "run_not_found", "agent_mismatch", "request_id_conflict"] as const),
        ...(["run_interrupted", "run_not_steerable", "steer_already_pending", "run_not_interrupted"] as const),
        ...(["resume_superseded", "model_unknown", "image_invalid", "resume_invalid", "query_required"] as const),
        ...(["queue_policy_inapplicable", "queue_full", "quota_exceeded", "shutting_down", "body_too_large"] as const),
      ),
    },
  };
  app.post("/api/agent/runs", { ...idempotent, schema: submit }, async (request, reply) => {
    const requestId = idempotencyKey(request, requestIdInMeta(request.body.meta));
    const submission = await runs.submit(callerOf(request), request.body, {
      requestId,
      traceparent: readTraceparent(request.headers.traceparent),
    });
    if (submission.status === "rejected") void reply.header("retry-after", BUSY_SECONDS);
    return submission;
  });

  const list = {
    tags,
    operationId: "listRuns",
    summary: "List runs, newest first",
    description: "The caller's own. `before` is the run id of the last one of the page before.",
    querystring: RunListQuery,
    response: { 200: RunList, ...refusals("thread_not_found") },
  };
  app.get("/api/agent/runs", { schema: list }, async (request) => ({
    runs: await runs.list(callerOf(request), request.query),
  }));

  const of = { tags, params: RunPath };
  const get = {
    ...of,
    operationId: "getRun",
    summary: "Look at a run",
    description: "Another user's run is not found.",
    response: { 200: RunAnswer, ...refusals("run_not_found") },
  };
  app.get("/api/agent/runs/:run_id", { schema: get }, async (request) => ({
    run: await runs.get(callerOf(request), request.params.run_id),
  }));

  const result = {
    ...of,
    operationId: "getRunResult",
    summary: "Read a run's result",
    description: "Reads, never runs again. `final` is false before the end.",
    response: { 200: RunResult, ...refusals("run_not_found") },
  };
  app.get("/api/agent/runs/:run_id/result", { schema: result }, async (request) =>
    runs.result(callerOf(request), request.params.run_id),
  );

  const cancel = {
    ...of,
    operationId: "cancelRun",
    summary: "Cancel a run",
    description: "An ended run stays as it is; an interrupted one is given up. Confirmed by the run's `end`.",
    response: { 200: RunAnswer, ...refusals("run_not_found") },
  };
  app.post("/api/agent/runs/:run_id/cancel", { schema: cancel }, async (request) => ({
    run: await runs.cancel(actorOf(request), request.params.run_id),
  }));

  const stream = {
    ...of,
    operationId: "followRun",
    summary: "Follow a run's events",
    description:
      "Server-sent events: `id` is the event's `seq`, the last one is `end`. Go on with `Last-Event-ID` or `after_seq`. Pages of JSON with `format=json` or `Accept: application/json`: at most `limit` events, fewer where they are large; `has_more` says whether there are more.",
    querystring: EventsQuery,
    response: {
      200: {
        description: "The events after the cursor.",
        content: { "application/json": { schema: EventPage }, "text/event-stream": { schema: z.string() } },
      },
      204: z.undefined().describe("The run has ended and the cursor is at its end."),
      ...refusals("run_not_found", "events_expired", "cursor_beyond_end", "bad_cursor", "too_many_streams"),
    },
  };
  const describedHeaders = { "Last-Event-ID": "The last event that was seen; wins over `after_seq`." };
  app.get(
    "/api/agent/runs/:run_id/events",
    { config: { describedHeaders }, schema: stream },
    async (request, reply) => {
      const { query } = request;
      const details = await runs.find(callerOf(request), request.params.run_id);
      const source = { runId: details.run.id, threadId: details.threadId, requestId: details.request.request_id };
      const afterSeq = readCursor(request.headers["last-event-id"], query.after_seq);
      const show = query.verbose === "false" ? slim : undefined;
      // Refused before the connection is taken over, while a problem can still be answered.
      const page = await readPage(events, source, afterSeq, query.limit);
      if (wantsJson(request, query.format)) {
        const last = page.events.at(-1)?.seq ?? afterSeq;
        return {
          events: show === undefined ? [...page.events] : page.events.map(show),
          last_seq: page.lastSeq,
          has_more: last < page.lastSeq,
          ended: page.hasEnded,
        };
      }
      if (page.hasEnded && afterSeq === page.lastSeq) return reply.code(204).send();
      await sendFrames(options, request, reply, async function* (signal) {
        for await (const batch of events.follow(source, afterSeq, signal)) {
          yield batch.map(show === undefined ? fullFrame : slimFrame);
        }
      });
      return reply;
    },
  );

  const requestOf = { tags: ["requests"], params: RequestPath };
  const getRequest = {
    ...requestOf,
    operationId: "getRequest",
    summary: "Look at a request",
    description: "The authoritative state of a request, whatever its submission answered.",
    response: { 200: RequestAnswer, ...refusals("request_not_found") },
  };
  app.get("/api/agent/requests/:request_id", { schema: getRequest }, async (request) => ({
    request: await runs.request(callerOf(request), request.params.request_id),
  }));

  const cancelRequest = {
    ...requestOf,
    operationId: "cancelRequest",
    summary: "Take a waiting request back",
    description: "Only while it waits; a request with a run is cancelled by that.",
    response: {
      200: RequestCancelled,
      ...refusals("request_not_found", "request_already_dispatched", "steer_in_progress"),
    },
  };
  app.post("/api/agent/requests/:request_id/cancel", { schema: cancelRequest }, async (request) =>
    runs.cancelRequest(actorOf(request), request.params.request_id),
  );

  const steer = {
    ...requestOf,
    operationId: "steerRequest",
    summary: "Make a waiting request the steer of the running run",
    description: "It then stops the running run at its next step and goes on from there.",
    response: {
      200: RequestAnswer,
      ...refusals("request_not_found", "request_not_queued", "run_not_steerable", "steer_already_pending"),
    },
  };
  app.post("/api/agent/requests/:request_id/steer", { schema: steer }, async (request) => ({
    request: await runs.steerRequest(actorOf(request), request.params.request_id),
  }));

  const requestStream = {
    ...requestOf,
    operationId: "followRequest",
    summary: "Follow a request until it has a run or has ended",
    description:
      "Its present state at once, then each change; ends after `run_created`, `cancelled`, `rejected` or `failed`.",
    response: {
      200: { description: "States.", content: { "text/event-stream": { schema: z.string() } } },
      ...refusals("request_not_found", "too_many_streams"),
    },
  };
  app.get("/api/agent/requests/:request_id/events", { schema: requestStream }, async (request, reply) => {
    const caller = callerOf(request);
    const { pk } = await runs.findRequest(caller, request.params.request_id);
    await sendFrames(options, request, reply, (signal) => followRequest(storage, events, pk, signal));
    return reply;
  });
};

/**
 * Events that cannot be read have no meaning for their run (law: error means over): asking again later is right.
 * @throws {ApiProblem}
 */
async function readPage(events: RunEvents, ...of: Parameters<RunEvents["page"]>): Promise<EventPageResult> {
  try {
    return await events.page(...of);
  } catch (error) {
    if (error instanceof ApiProblem) throw error;
    const problem = new ApiProblem("not_ready", "the events cannot be read now; try again");
    throw Object.assign(problem, { cause: error });
  }
}

/** Readers of one run share its events, and so the frames made of them. */
function rememberFrames(show: (event: RunEvent) => RunEvent): (event: RunEvent) => Frame {
  const frames = new WeakMap<RunEvent, Frame>();
  return (event) => {
    const known = frames.get(event);
    if (known !== undefined) return known;
    const frame = { id: event.seq, event: event.event, data: show(event) };
    frames.set(event, frame);
    return frame;
  };
}

const fullFrame = rememberFrames((event) => event);
const slimFrame = rememberFrames(slim);

async function sendFrames(
  { streams, auth }: RunRoutesOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  read: StreamSource["read"],
): Promise<void> {
  // What hooks have set, such as CORS, goes out with the stream.
  const headers = Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === "number" ? String(value) : value]],
    ),
  );
  const sending = streams.open(reply.raw, headers, {
    userId: callerOf(request).userId,
    read,
    isAllowed: () => auth.credentials.isAccepted(request.headers.authorization),
  });
  reply.hijack();
  await sending;
}

function wantsJson(request: FastifyRequest, format: "json" | "sse" | undefined): boolean {
  if (format !== undefined) return format === "json";
  const accept = request.headers.accept ?? "";
  return accept.includes("application/json") && !accept.includes("text/event-stream");
}

/** The largest integer of the column: a cursor beyond it is beyond the end of every run. */
const LAST_CURSOR = 2 ** 31 - 1;

/** @throws {InputProblem} bad_cursor */
function readCursor(header: string | string[] | undefined, query: string | undefined): number {
  const isInHeader = typeof header === "string" && header !== "";
  const given = isInHeader ? header : query;
  if (given === undefined || given === "") return 0;
  if (/^\d+$/.test(given)) return Math.min(Number(given), LAST_CURSOR);
  throw new InputProblem(
    "bad_cursor",
    isInHeader ? ["header", "last-event-id"] : ["query", "after_seq"],
    `a cursor is a non-negative integer, got ${JSON.stringify(given.slice(0, 100))}`,
  );
}
