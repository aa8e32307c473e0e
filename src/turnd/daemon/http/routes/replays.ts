import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { ReplayRequest, TurnAdmission, TurnResult, TurnSnapshot } from "../../../protocol/index.ts";
import { AdmitHeaders, AdmitQuery } from "../../../protocol/requests.ts";
import { answerAdmission, type AdmissionOptions } from "./answer-admission.ts";
import { refusals } from "../refusals.ts";
import { readTraceparent } from "../../../../kit/http/traceparent.ts";

const schema = {
  tags: ["replays"],
  operationId: "replayRecording",
  summary: "Replay a recording",
  description:
    "Plays what `GET /v1/turns/{turn_id}/recording` exported as a turn of executor `replay`: the same events but for " +
    "time and ids, under the recorded CLI's name, without a process. Answers as `POST /v1/turns` does. At a factor " +
    "lines come at the times of the recording's timeline, otherwise of the records' own timestamps, otherwise all at once.",
  headers: AdmitHeaders,
  querystring: AdmitQuery,
  body: ReplayRequest,
  response: {
    200: z.union([TurnResult, TurnAdmission]),
    202: z.union([TurnSnapshot, TurnAdmission]),
    ...refusals(
      ...(["invalid_json", "session_not_found", "request_id_conflict", "executor_mismatch"] as const),
      ...(["body_too_large", "unsupported_media_type", "queue_full"] as const),
      ...(["shutting_down", "storage_full"] as const),
    ),
  },
} as const;

/** `POST /v1/replays`. */
export const replayRoutes: FastifyPluginAsyncZod<AdmissionOptions> = async (app, options) => {
  app.post("/v1/replays", { schema }, async (request, reply) => {
    options.refuseWhenStopping();
    const traceparent = readTraceparent(request.headers.traceparent);
    const admitted = await options.service.admitReplay(request.body, traceparent === undefined ? {} : { traceparent });
    return answerAdmission(admitted, options, { reply, waitMs: request.query.wait_ms });
  });
};
