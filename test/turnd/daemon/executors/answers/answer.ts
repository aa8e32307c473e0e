import type { FailureCode } from "../../../../../src/turnd/protocol/index.ts";

/** How a provider refuses a request, and what it means. */
export interface Answer {
  readonly name: string;
  readonly status: number;
  /** A string goes out as it stands, anything else as JSON. */
  readonly body: unknown;
  readonly code: FailureCode;
  /** What CLI B leaves of it to tell: it drops the body of a 429 and of a 500, and needs /responses. */
  readonly cliB: FailureCode;
  /** Other codes that are defensible, whichever CLI was refused. */
  readonly also: readonly FailureCode[];
}

/** A row of a table of answers: name, status, body, code, CLI B's code where it differs, other codes that are defensible. */
export type Row = readonly [
  name: string,
  status: number,
  body: unknown,
  code: FailureCode,
  cliB?: FailureCode,
  also?: readonly FailureCode[],
];

/** Reads a table of answers. */
export function toAnswers(rows: readonly Row[]): Answer[] {
  return rows.map(([name, status, body, code, cliB = code, also = []]) => ({ name, status, body, code, cliB, also }));
}

/** The body as it goes over the wire. */
export function toText({ body }: Pick<Answer, "body">): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** The shape most providers took over from OpenAI. */
export function error(message: string, code: string | number | null = null, type = "invalid_request_error"): unknown {
  return { error: { message, type, param: null, code } };
}
