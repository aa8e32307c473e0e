import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from "fastify";
import { bodyLimitOf } from "./body-limits.ts";

/** What is refused for reasons that every app has; both programs have these codes. */
export type CommonCode =
  | "body_too_large"
  | "invalid_json"
  | "unsupported_media_type"
  | "route_not_found"
  | "internal_error";

/** A refusal as it is sent. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string | number>>;
  /** Whether the fault behind it is the program's own, and is logged: here, once. */
  readonly isFault: boolean;
}

/** How a program refuses: its own codes and its own form of the answer. */
export interface ProblemRules<Refusal extends Error> {
  /** The refusal that an error is, or means; undefined for an error that the program does not know. */
  recognise(error: unknown, request: FastifyRequest): Refusal | undefined;
  refuse(code: CommonCode, message: string): Refusal;
  /** A request that breaks off, or that Fastify refuses for a reason of its own. */
  refuseBroken(message: string): Refusal;
  /** The message of an `internal_error`, which tells nothing of the fault. */
  readonly faultMessage: string;
  answer(refusal: Refusal): Answer;
  /** What of a request may be logged: nothing secret. */
  name(request: FastifyRequest): Readonly<Record<string, string | undefined>>;
}

/** What makes a problem of every refusal, and of every fault behind it. */
export interface Problems {
  register(app: FastifyInstance): void;
  /** Answers an error; Fastify calls it itself only for errors of a route, so routing errors have to be given to it. */
  send(error: unknown, request: FastifyRequest, reply: FastifyReply): void;
}

/** Makes the refusals of an app. A client gets `internal_error` for a fault, without its message. */
export function createProblems<Refusal extends Error>(rules: ProblemRules<Refusal>): Problems {
  function send(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const refusal = rules.recognise(error, request) ?? explain(error, request, rules);
    const { status, body, headers, isFault } = rules.answer(refusal);
    if (isFault) request.log.error({ err: error, method: request.method, ...rules.name(request) }, "request failed");
    void reply.code(status).headers(headers).send(body);
  }

  return {
    send,
    register(app) {
      app.setErrorHandler(send);
      app.setNotFoundHandler((request, reply) => {
        const path = request.url.split("?", 1)[0] ?? "/";
        const allowed = methodsAt(app, path);
        if (allowed.length > 0) void reply.header("allow", allowed.join(", "));
        const described = app.hasRoute({ method: "GET", url: "/openapi.json" }) ? "; see /openapi.json" : "";
        const offer = allowed.length > 0 ? `; this path has ${allowed.join(" and ")}` : described;
        throw rules.refuse("route_not_found", `there is no ${request.method} ${path}${offer}`);
      });
    },
  };
}

const METHODS: readonly HTTPMethods[] = ["GET", "POST", "PUT", "DELETE"];

function methodsAt(app: FastifyInstance, url: string): string[] {
  // The router answers null where its types promise a route.
  return METHODS.filter((method) => Boolean(app.findRoute({ method, url }))).map(String);
}

/** What Fastify itself refuses, with messages of this project. Source: fastify 5.12 `lib/errors.js`. */
const FASTIFY_REFUSALS: Readonly<Record<string, readonly [CommonCode, string]>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: ["invalid_json", "the body is not valid JSON, or has a key `__proto__`"],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ["invalid_json", "the body is shorter or longer than its Content-Length"],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ["unsupported_media_type", "send the body as `Content-Type: application/json`"],
  FST_ERR_BAD_URL: ["route_not_found", "the path is not properly percent-encoded"],
  FST_ERR_MAX_PARAM_LENGTH: ["route_not_found", "a part of the path is too long"],
};

/** Distinguishes a refusal of Fastify from a fault. */
function explain<Refusal extends Error>(
  error: unknown,
  request: FastifyRequest,
  rules: ProblemRules<Refusal>,
): Refusal {
  const { code, statusCode, message } = { code: "", statusCode: 0, ...fieldsOf(error) };
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    return rules.refuse("body_too_large", `the body is larger than ${bodyLimitOf(request).bytes} bytes`);
  }
  const known = FASTIFY_REFUSALS[code];
  if (known !== undefined) return rules.refuse(...known);
  // The rest of the range is caused by the client, such as a body that breaks off.
  if (statusCode >= 400 && statusCode < 500) return rules.refuseBroken(message);
  return rules.refuse("internal_error", rules.faultMessage);
}

function fieldsOf(error: unknown): { code?: string; statusCode?: number; message: string } {
  if (!(error instanceof Error)) return { message: "" };
  return {
    message: error.message,
    ...("code" in error && typeof error.code === "string" ? { code: error.code } : {}),
    ...("statusCode" in error && typeof error.statusCode === "number" ? { statusCode: error.statusCode } : {}),
  };
}
