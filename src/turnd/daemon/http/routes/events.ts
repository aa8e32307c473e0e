import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { LoggedEvent, ProblemError, PROVISIONAL, SlimEvent } from "../../../protocol/index.ts";
import { EventsHeaders, EventsQuery, SessionEventsQuery, SessionPath, TurnPath } from "../../../protocol/requests.ts";
import type { LoggedLine, SessionEventsEnd, TurnService } from "../../turns/turn-service.ts";
import { readCursor, readSessionCursor } from "../streaming/cursor.ts";
import type { Metrics } from "./metrics.ts";
import type { OpenStreams } from "../streaming/open-streams.ts";
import { refusals } from "../refusals.ts";
import { sendStream, type StreamFormat } from "../streaming/send-stream.ts";
import type { Piece } from "../streaming/chunks.ts";
import { shareFrames, type Frame } from "../streaming/shared-frames.ts";
import { slimLine } from "../streaming/slim.ts";
import { frameFor, frameNdjson, frameSseError, HEARTBEAT_FRAME, STREAM_FAILED, wantsSse } from "../streaming/sse.ts";

export interface EventRoutesOptions {
  readonly service: TurnService;
  readonly streams: OpenStreams;
  readonly heartbeatMs: number;
  readonly metrics: Metrics;
}

const schema = {
  tags: ["turns"],
  operationId: "readTurnEvents",
  summary: "Read a turn's events",
  description:
    "Server-sent events with `Accept: text/event-stream`, following the turn to its end: `id` is the event's `seq`, " +
    "`event` its `type` (`end` for `turn.ended`, `error` only when the stream itself fails), `data` byte for byte " +
    "the logged line. Otherwise NDJSON of the events so far. Continue with `Last-Event-ID` or `after_seq`.",
  params: TurnPath,
  querystring: EventsQuery,
  headers: EventsHeaders,
  response: {
    200: {
      description: "The events in order of `seq`; slim ones with `verbose=false`.",
      content: {
        "application/x-ndjson": { schema: z.union([LoggedEvent, SlimEvent]) },
        "text/event-stream": { schema: z.string() },
      },
    },
    204: z.undefined().describe("The turn has ended and the cursor is at its end: no event will follow."),
    ...refusals("turn_not_found", "cursor_beyond_end", "bad_cursor", "too_many_streams"),
  },
} as const;

const sessionSchema = {
  tags: ["sessions"],
  operationId: "readSessionEvents",
  summary: "Read the events of all turns of a session",
  description:
    "As for a turn, one turn after the other in the order of their admission; `id` is `<turn_id>:<seq>`. " +
    "Server-sent events stay open for later turns, until the client disconnects or the session is deleted.",
  params: SessionPath,
  querystring: SessionEventsQuery,
  headers: EventsHeaders,
  response: {
    200: schema.response[200],
    ...refusals("session_not_found", "cursor_beyond_end", "bad_cursor", "too_many_streams"),
  },
} as const;

/** `GET /v1/turns/{turn_id}/events` and `GET /v1/sessions/{session_id}/events`. */
export const eventRoutes: FastifyPluginAsyncZod<EventRoutesOptions> = async (app, options) => {
  const { service, streams, heartbeatMs, metrics } = options;

  app.get(
    "/v1/turns/:turn_id/events",
    { schema, exposeHeadRoute: false, config: { takesTicket: true } },
    async (request, reply) => {
      const { query } = request;
      const turn = service.getTurn(request.params.turn_id);
      const afterSeq = readCursor(request.headers["last-event-id"], query.after_seq);
      if (afterSeq > turn.last_seq) {
        const message = `the cursor ${afterSeq} is beyond the last event, ${turn.last_seq}`;
        throw new ProblemError("cursor_beyond_end", message, { turn_id: turn.turn_id, last_seq: turn.last_seq });
      }
      const hasEnded = turn.status !== "queued" && turn.status !== "running";
      if (hasEnded && afterSeq === turn.last_seq) return reply.code(204).send();

      const isSse = wantsSse(request.headers.accept);
      const format = formatOf(query, { isSse, heartbeatMs });
      const stream = streams.open(turn.turn_id, request.raw.socket);
      const isFollowing = isSse || query.follow === true;
      // From here on this code owns the connection: no serialisation, no buffering, nothing between the log and the
      // socket.
      reply.hijack();
      await sendStream(reply.raw, stream, {
        headers: reply.getHeaders(),
        format,
        read: (signal, atOnce) => service.readEvents(turn.turn_id, { afterSeq, isFollowing, signal, atOnce }),
        onSent: (lines) => countSent(metrics, lines, (line) => line.seq <= turn.last_seq),
        onFailure: (error) => request.log.error({ err: error, turnId: turn.turn_id }, "event stream failed"),
      });
      return reply;
    },
  );

  app.get(
    "/v1/sessions/:session_id/events",
    { schema: sessionSchema, exposeHeadRoute: false, config: { takesTicket: true } },
    async (request, reply) => {
      const { session_id: sessionId } = request.params;
      const cursor = readSessionCursor(request.headers["last-event-id"], request.query.after);
      const isSse = wantsSse(request.headers.accept);
      const isFollowing = isSse || request.query.follow === true;
      const stream = streams.open(sessionId, request.raw.socket);
      let readLines: ReturnType<TurnService["findSessionEvents"]>;
      try {
        // Refused before the connection is taken over, while a problem can still be answered.
        readLines = service.findSessionEvents(sessionId, cursor);
      } catch (error) {
        stream.release();
        throw error;
      }
      const isLate = createLateness(service.endOfEvents(sessionId), cursor?.turnId);
      reply.hijack();
      await sendStream(reply.raw, stream, {
        headers: reply.getHeaders(),
        format: formatOf(request.query, { isSse, heartbeatMs }),
        read: (signal, atOnce) => readLines({ isFollowing, signal, atOnce }),
        onSent: (batch) => countSent(metrics, batch, isLate),
        onFailure: (error) => request.log.error({ err: error, sessionId }, "event stream failed"),
      });
      return reply;
    },
  );
};

/** A session's cursor is `<turn_id>:<seq>`. */
function turnOf({ id = "" }: LoggedLine): string {
  return id.slice(0, id.lastIndexOf(":"));
}

/**
 * Tells which lines were logged before the client asked: of turns that had not ended some, of all before the newest all.
 *
 * @param first - the turn that is read from
 */
function createLateness(end: SessionEventsEnd, first: string | undefined): (line: LoggedLine) => boolean {
  const { newestTurnId: newest, lastSeqs } = end;
  let isAtNewest = newest === undefined || first === newest;
  return (line) => {
    const turnId = turnOf(line);
    isAtNewest ||= turnId === newest;
    return line.seq <= (lastSeqs.get(turnId) ?? (isAtNewest && turnId !== newest ? 0 : Infinity));
  };
}

/** Within a batch the late lines come first. */
function countSent<Line extends LoggedLine>(
  metrics: Metrics,
  lines: readonly Line[],
  isLate: (line: Line) => boolean,
): void {
  const firstLive = lines.findIndex((line) => !isLate(line));
  const late = firstLive === -1 ? lines.length : firstLive;
  if (late > 0) metrics.countSent("late", late);
  if (late < lines.length) metrics.countSent("live", lines.length - late);
}

interface Form {
  readonly isSse: boolean;
  readonly heartbeatMs: number;
}

function formatOf(
  query: Pick<z.infer<typeof EventsQuery>, "named" | "verbose" | "deltas">,
  { isSse, heartbeatMs }: Form,
): StreamFormat {
  const whole = isSse ? frameFor(query) : frameNdjson;
  const shown = query.verbose === false ? slim(whole) : whole;
  const frame = query.deltas === false ? withoutPieces(shown) : shown;
  if (!isSse) return { contentType: "application/x-ndjson; charset=utf-8", frame };
  return {
    contentType: "text/event-stream; charset=utf-8",
    frame,
    heartbeat: { bytes: HEARTBEAT_FRAME, everyMs: heartbeatMs },
    failure: frameSseError(STREAM_FAILED),
  };
}

/** One for each form, so that it is shared too. */
function oneForEach(make: (frame: Frame) => (lines: readonly LoggedLine[]) => Piece): (frame: Frame) => Frame {
  const frames = new Map<Frame, Frame>();
  return (frame) => {
    const made = frames.get(frame) ?? shareFrames(make(frame));
    frames.set(frame, made);
    return made;
  };
}

const slim = oneForEach((frame) => (lines) => frame(lines.map(slimLine)));
const withoutPieces = oneForEach((frame) => (lines) => frame(lines.filter(({ type }) => !PROVISIONAL.has(type))));
