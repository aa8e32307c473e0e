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

/**
 * Makes rows of what all means one code.
 *
 * @returns a function that makes the rows of one status: bodies by name, of which a string is OpenAI's error with that
 * sentence and nothing else
 */
export const refusals =
  (code: FailureCode) =>
  (
    status: number,
    bodies: Readonly<Record<string, unknown>>,
    { cliB = code, also = [] }: Partial<Pick<Answer, "cliB" | "also">> = {},
  ): Answer[] =>
    Object.entries(bodies).map(([name, given]) => {
      const body = given instanceof AsIs ? given.text : typeof given === "string" ? error(given) : given;
      return { name, status, body, code, cliB, also };
    });

class AsIs {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A body that is no JSON: a page, plain words, nothing. */
export const asIs = (text: string): AsIs => new AsIs(text);

/** The body as it goes over the wire. */
export function toText({ body }: Pick<Answer, "body">): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** The shape most providers took over from OpenAI. */
export function error(message: string, code: string | number | null = null, type = "invalid_request_error"): unknown {
  return { error: { message, type, param: null, code } };
}

export const anthropic = (type: string, message: string): unknown => ({ type: "error", error: { type, message } });

export const google = (code: number, status: string, message: string, details?: unknown[]): unknown => ({
  error: { code, message, status, ...(details === undefined ? {} : { details }) },
});

/** @param raw - what the maker behind it has answered */
export const openRouter = (code: number | string, message: string, raw?: string): unknown => ({
  error: { message, code, ...(raw === undefined ? {} : { metadata: { raw, provider_name: "Maker" } }) },
});

/** Azure, Volcengine and GitHub write it so. */
export const coded = (code: string | number | null, message: string): unknown => ({ error: { code, message } });
