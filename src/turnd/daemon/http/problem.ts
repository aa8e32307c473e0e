import { createProblems, type Problems } from "../../../kit/http/problems.ts";
import { createValidator } from "../../../kit/http/validation.ts";
import { isProblemCode, ProblemError, type Problem } from "../../protocol/index.ts";
import { loggedPath } from "./request-path.ts";

/** Takes secrets out of a text. Law: keys travel aside. */
export type RedactText = (text: string) => string;

/** Makes a problem (`{"detail":{…}}`) of every refusal of an app of turnd and of every internal error. */
export function createTurndProblems(redact: RedactText): Problems {
  return createProblems<ProblemError>({
    recognise: (error) => (error instanceof ProblemError ? error : undefined),
    refuse: (code, message) => new ProblemError(code, message),
    refuseBroken: (message) => new ProblemError("invalid_request", message),
    faultMessage: "turnd failed to answer; its log says why",
    answer: (problem) => ({
      status: problem.status,
      body: renderProblem(problem, redact),
      headers: {
        ...(problem.code === "unauthorized" ? { "www-authenticate": 'Bearer realm="turnd"' } : {}),
        ...(problem.retryAfterSeconds === undefined ? {} : { "retry-after": problem.retryAfterSeconds }),
      },
      isFault: problem.code === "internal_error",
    }),
    name: ({ url }) => ({ path: loggedPath(url) }),
  });
}

/** The body of a refusal. Its text may quote the request; codes and ids are left as they are. */
export function renderProblem(problem: ProblemError, redact: RedactText): Problem {
  const { fields, ...extras } = problem.extras;
  return {
    detail: {
      // Another code is that of another turnd.
      code: isProblemCode(problem.code) ? problem.code : "internal_error",
      message: redact(problem.message),
      ...extras,
      ...(fields === undefined
        ? {}
        : { fields: fields.map(({ path, message }) => ({ path: redact(path), message: redact(message) })) }),
    },
  };
}

/** Most of a path that an answer repeats. */
const MAX_PATH_LENGTH = 200;

/** Validates a part of a request; what does not fit is an `invalid_request` with one entry per field. */
export const compileValidator = createValidator({
  refuse(faults) {
    const fields = faults.map(({ path, message }) => ({ path: renderPath(path), message }));
    const first = fields[0];
    const summary = first === undefined ? "the request is not valid" : `${first.path}: ${first.message}`;
    const more = fields.length > 1 ? ` (and ${fields.length - 1} more in fields)` : "";
    return new ProblemError("invalid_request", `${summary}${more}`, { fields });
  },
});

/** Fields of the body stand without the part's name. */
function renderPath([part = "body", ...way]: readonly (string | number)[]): string {
  if (way.length === 0) return String(part);
  return (part === "body" ? way : [part, ...way]).join(".").slice(0, MAX_PATH_LENGTH);
}
