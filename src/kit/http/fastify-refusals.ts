/** A request that Fastify refused before any handler saw it. */
export interface FastifyRefusal {
  readonly code: "body_too_large" | "invalid_json" | "unsupported_media_type" | "route_not_found" | "broken_request";
  readonly message: string;
}

/** What Fastify itself refuses, with messages of this project. Source: fastify 5.12 `lib/errors.js`. */
const REFUSALS: Readonly<Record<string, FastifyRefusal>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: {
    code: "invalid_json",
    message: "the body is not valid JSON, or has a key `__proto__`",
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: "invalid_json",
    message: "the body is shorter or longer than its Content-Length",
  },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: "unsupported_media_type",
    message: "send the body as `Content-Type: application/json`",
  },
  FST_ERR_BAD_URL: { code: "route_not_found", message: "the path is not properly percent-encoded" },
  FST_ERR_MAX_PARAM_LENGTH: { code: "route_not_found", message: "a part of the path is too long" },
};

/** Distinguishes a refusal of Fastify from a fault; undefined for a fault. */
export function readFastifyRefusal(error: unknown, maxBodyBytes: number): FastifyRefusal | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const status = "statusCode" in error && typeof error.statusCode === "number" ? error.statusCode : 0;
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    return { code: "body_too_large", message: `the body is larger than ${maxBodyBytes} bytes` };
  }
  const known = REFUSALS[code];
  if (known !== undefined) return known;
  // The rest of the range is caused by the client, such as a body that breaks off.
  return status >= 400 && status < 500 ? { code: "broken_request", message: error.message } : undefined;
}
