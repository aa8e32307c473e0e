import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { RecordingDocument, TicketQuery } from "../../../protocol/index.ts";
import { TurnPath } from "../../../protocol/requests.ts";
import type { TurnService } from "../../turns/turn-service.ts";
import type { OpenStream, OpenStreams } from "../streaming/open-streams.ts";
import { refusals } from "../refusals.ts";

export interface RecordingRoutesOptions {
  readonly service: TurnService;
  readonly streams: OpenStreams;
}

const schema = {
  tags: ["replays"],
  operationId: "exportRecording",
  summary: "Export an ended turn's recording",
  description:
    "Everything needed to play the turn again, secrets taken out, for `POST /v1/replays` and `turnd replay`. It is " +
    "streamed: an answer that breaks off is not a JSON document. It counts as an event stream.",
  params: TurnPath,
  querystring: TicketQuery,
  response: {
    200: { description: "The recording.", content: { "application/json": { schema: RecordingDocument } } },
    ...refusals("turn_not_found", "turn_not_ended", "too_many_streams"),
  },
} as const;

/** `GET /v1/turns/{turn_id}/recording`. */
export const recordingRoutes: FastifyPluginAsyncZod<RecordingRoutesOptions> = async (app, { service, streams }) => {
  app.get(
    "/v1/turns/:turn_id/recording",
    { schema, exposeHeadRoute: false, config: { takesTicket: true } },
    async ({ params, raw }, reply) => {
      const chunks = service.exportRecording(params.turn_id);
      return sendChunks(reply, chunks, streams.open(params.turn_id, raw.socket));
    },
  );
};

/** Sends chunks at the client's speed: one is read ahead, whatever the recording's size. */
function sendChunks(reply: FastifyReply, chunks: AsyncIterable<string>, place: OpenStream): FastifyReply {
  const body = Readable.from(chunks, { highWaterMark: 1 });
  place.controller.signal.addEventListener("abort", () => body.destroy());
  body.once("close", () => place.release());
  return reply.type("application/json; charset=utf-8").header("cache-control", "no-store").send(body);
}
