import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import {
  CancelReceipt,
  RawRecords,
  TurnAdmission,
  TurnInputText,
  TurnList,
  TurnRequest,
  TurnResult,
  TurnSnapshot,
} from "../../../protocol/index.ts";
import {
  AdmitHeaders,
  AdmitQuery,
  RecordsQuery,
  RequestPath,
  ResultQuery,
  TurnPath,
  TurnsQuery,
} from "../../../protocol/requests.ts";
import { answerAdmission, type AdmissionOptions } from "./answer-admission.ts";
import { refusals } from "../refusals.ts";
import { readTraceparent } from "../../../../kit/http/traceparent.ts";

const tags = ["turns"];

/** `/v1/turns` and `/v1/requests`, without a turn's events. */
export const turnRoutes: FastifyPluginAsyncZod<AdmissionOptions> = async (app, options) => {
  const { service, refuseWhenStopping } = options;

  const admit = {
    tags,
    operationId: "submitTurn",
    summary: "Admit a turn",
    description:
      "202 for a new turn, 200 for a repeated `request_id`. With `wait_ms` 200 and the result of a turn that has ended by " +
      "then, or 202 and the turn's present state: its `result_url` has the result later, also where an ended turn's log cannot be " +
      "read at that moment.",
    headers: AdmitHeaders,
    querystring: AdmitQuery,
    body: TurnRequest,
    response: {
      200: z.union([TurnResult, TurnAdmission]),
      202: z.union([TurnSnapshot, TurnAdmission]),
      ...refusals(
        ...(["invalid_json", "session_not_found", "session_busy", "request_id_conflict", "executor_mismatch"] as const),
        ...([
          "executor_not_found",
          "session_exists",
          "body_too_large",
          "unsupported_media_type",
          "workspace_unusable",
        ] as const),
        ...(["mode_unsupported", "queue_full", "shutting_down", "resources_exhausted", "storage_full"] as const),
      ),
    },
  };
  app.post("/v1/turns", { schema: admit }, async (request, reply) => {
    refuseWhenStopping();
    const traceparent = readTraceparent(request.headers.traceparent);
    const admitted = await service.admit(request.body, traceparent === undefined ? {} : { traceparent });
    return answerAdmission(admitted, options, { reply, waitMs: request.query.wait_ms });
  });

  const list = {
    tags,
    operationId: "listTurns",
    summary: "List turns",
    description:
      "The newest first, of every session or of one. `next_cursor` leads to the next page: no turn is left out or given " +
      "twice, whatever is admitted or deleted meanwhile.",
    querystring: TurnsQuery,
    response: { 200: TurnList, ...refusals("bad_cursor") },
  };
  app.get("/v1/turns", { schema: list }, async ({ query: { session_id: sessionId, status, cursor, limit } }) =>
    service.listTurns({
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(status === undefined ? {} : { status }),
      ...(cursor === undefined ? {} : { cursor }),
      limit,
    }),
  );

  const get = {
    tags,
    operationId: "getTurn",
    summary: "Look at a turn",
    description: "Where it stands now. Cheap: safe to ask often; its events are better followed than polled.",
    params: TurnPath,
    response: { 200: TurnSnapshot, ...refusals("turn_not_found") },
  };
  app.get("/v1/turns/:turn_id", { schema: get }, async ({ params }) => service.getTurn(params.turn_id));

  const result = {
    tags,
    operationId: "getTurnResult",
    summary: "Get an ended turn's result",
    description:
      "The data of `turn.ended`, and `decision`: the rule that decided it, with `explain=true` all that were tried.",
    params: TurnPath,
    querystring: ResultQuery,
    response: {
      200: TurnResult,
      ...refusals("turn_not_found", "turn_not_ended", "resources_exhausted", "storage_full"),
    },
  };
  app.get("/v1/turns/:turn_id/result", { schema: result }, async ({ params, query }) =>
    service.getResult(params.turn_id, { isExplained: query.explain === true }),
  );

  const input = {
    tags,
    operationId: "getTurnInput",
    summary: "Get a turn's input",
    description:
      "The text that the turn was asked, whole, secrets taken out, and what else the request asked for that its snapshot does not have.",
    params: TurnPath,
    response: { 200: TurnInputText, ...refusals("turn_not_found") },
  };
  app.get("/v1/turns/:turn_id/input", { schema: input }, async ({ params }) => service.readInput(params.turn_id));

  const records = {
    tags,
    operationId: "getTurnRecords",
    summary: "Read a turn's raw output",
    description:
      "Lines of what the CLI has printed so far, with the numbers that an event's `native` names, secrets taken out. A line " +
      "of more than 64 KiB is cut. An empty list: there is no such line yet.",
    params: TurnPath,
    querystring: RecordsQuery,
    response: { 200: RawRecords, ...refusals("turn_not_found") },
  };
  app.get("/v1/turns/:turn_id/records", { schema: records }, async ({ params, query }) =>
    service.readRecords(params.turn_id, query),
  );

  const cancel = {
    tags,
    operationId: "cancelTurn",
    summary: "Cancel a turn",
    description:
      "Answers when no process of the turn is left, with a receipt of what was ended. Safe to repeat. Where the turn had " +
      "printed more than could be logged within two seconds of that, the receipt's `status` is still `running`: its " +
      "processes are gone, the rest is being logged, and `turn.ended` follows.",
    params: TurnPath,
    response: { 200: CancelReceipt, ...refusals("turn_not_found", "storage_full") },
  };
  app.post("/v1/turns/:turn_id/cancel", { schema: cancel }, async ({ params }) => service.cancel(params.turn_id));

  const find = {
    tags,
    operationId: "getTurnOfRequest",
    summary: "Find the turn of a request",
    description: "For a client that has lost the answer to its `POST /v1/turns`: the turn that has this `request_id`.",
    params: RequestPath,
    response: { 200: TurnSnapshot, ...refusals("request_not_found", "session_not_found") },
  };
  app.get("/v1/requests/:request_id", { schema: find }, async ({ params }) => service.findRequest(params.request_id));
};
