import type { FastifyRequest } from "fastify";
import { createProblems, type Answer } from "../../kit/http/problems.ts";
import { createValidator, type RequestFault } from "../../kit/http/validation.ts";
import { ApiProblem, PROBLEM_STATUS, ValidationProblem } from "../protocol/problems.ts";
import { isStorable, storableText } from "../storage/storable.ts";
import { isDatabaseAway, sqlState } from "../storage/transaction.ts";

const DISK_FULL = "53100";
/** Logged with the fault behind them. */
const FAULTS: readonly string[] = ["internal_error", "not_ready", "storage_full"];

/** Makes every refusal, and every fault behind it, a problem (`{"detail":…}`). */
export const problems = createProblems<ApiProblem | ValidationProblem>({
  recognise,
  refuse: (code, message) => new ApiProblem(code, message),
  refuseBroken: (message) => new ApiProblem("invalid_json", message),
  faultMessage: "the service failed to answer; the reason is in its log",
  answer,
  name: ({ routeOptions }) => ({ route: routeOptions.url }),
});

function answer(problem: ApiProblem | ValidationProblem): Answer {
  if (problem instanceof ValidationProblem) {
    return { status: 422, body: { detail: problem.fields }, headers: {}, isFault: false };
  }
  const { code, message, extras, retryAfterSeconds } = problem;
  return {
    status: PROBLEM_STATUS[code],
    body: { detail: { code, message, ...extras } },
    headers: {
      ...(code === "unauthorized" ? { "www-authenticate": "Bearer" } : {}),
      ...(retryAfterSeconds === undefined ? {} : { "retry-after": retryAfterSeconds }),
      ...(code === "login_locked" ? { "x-lock-remaining": retryAfterSeconds ?? 0 } : {}),
    },
    isFault: FAULTS.includes(code),
  };
}

function recognise(error: unknown, request: FastifyRequest): ApiProblem | ValidationProblem | undefined {
  if (error instanceof ApiProblem || error instanceof ValidationProblem) return error;
  // Before the database is asked about: a client's connection breaks with the same codes as the database's.
  if (hasBrokenOff(request)) return new ApiProblem("invalid_json", "the body broke off");
  if (isDatabaseAway(error)) return new ApiProblem("not_ready", "the database is away; try again");
  if (sqlState(error) === DISK_FULL) return new ApiProblem("storage_full", "the database's disk is full");
  if (isDiskFull(error)) return new ApiProblem("storage_full", "the service's disk is full");
  return undefined;
}

/** The client has gone before all of its body was here. */
function hasBrokenOff({ raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete;
}

/** A file could not be written for want of space: an upload's, where objects are files. */
function isDiskFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}

/** Validates a part of a request: 422 with one entry for each field that does not fit. */
export const compileValidator = createValidator({
  inspect: findUnstorable,
  refuse: (faults) =>
    new ValidationProblem(
      faults.map(({ path, message, type }) => ({
        loc: path.map((key) => (typeof key === "number" ? key : storableText(key))),
        msg: message,
        type,
      })),
    ),
});

/**
 * The value that no engine stores: a text with U+0000 or half a surrogate, or a number like 1e999, which is none once it is
 * read and would be kept as null. How deep a body is, and of how many values, its parser has limited.
 */
function findUnstorable(value: unknown): RequestFault | undefined {
  if (typeof value === "string") return isStorable(value) ? undefined : unstorableText("must not contain");
  if (typeof value === "number") {
    if (Number.isFinite(value)) return undefined;
    return { path: [], message: "the number is larger than a number can be", type: "unstorable_number" };
  }
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const fault = findUnstorable(value[index]);
      if (fault !== undefined) return below(index, fault);
    }
    return undefined;
  }
  for (const [key, entry] of Object.entries(value)) {
    const fault = isStorable(key) ? findUnstorable(entry) : unstorableText("its name contains");
    if (fault !== undefined) return below(key.slice(0, MAX_NAME), fault);
  }
  return undefined;
}

/** Most of a name that an answer repeats. */
const MAX_NAME = 200;

function unstorableText(fault: string): RequestFault {
  return { path: [], message: `${fault} U+0000 or half a surrogate pair`, type: "unstorable_text" };
}

/** The path is written down only where there is a fault. */
function below(key: string | number, fault: RequestFault): RequestFault {
  return { ...fault, path: [key, ...fault.path] };
}
