import type { Answer } from "./answer.ts";
import { AUTH_FAILED } from "./auth-failed.ts";
import { CONTENT_BLOCKED } from "./content-blocked.ts";
import { CONTEXT_OVERFLOW } from "./context-overflow.ts";
import { INVALID_REQUEST } from "./invalid-request.ts";
import { MODEL_NOT_FOUND } from "./model-not-found.ts";
import { PROVIDER_ERROR } from "./provider-error.ts";
import { PROVIDER_TIMEOUT } from "./provider-timeout.ts";
import { QUOTA_EXCEEDED } from "./quota-exceeded.ts";
import { RATE_LIMITED } from "./rate-limited.ts";

/** Every way in which a provider is known to refuse a request. */
export const ANSWERS: readonly Answer[] = [
  ...AUTH_FAILED,
  ...MODEL_NOT_FOUND,
  ...INVALID_REQUEST,
  ...CONTEXT_OVERFLOW,
  ...CONTENT_BLOCKED,
  ...RATE_LIMITED,
  ...QUOTA_EXCEEDED,
  ...PROVIDER_ERROR,
  ...PROVIDER_TIMEOUT,
];
