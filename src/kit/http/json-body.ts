import { isUtf8 } from "node:buffer";
import type { FastifyInstance } from "fastify";
import { bodyLimitOf, MAX_BODY_DEPTH } from "./body-limits.ts";
import { scanJson } from "./json-size.ts";
import { shortenJson } from "./long-strings.ts";

/** Makes the problem for a refused body. */
export type RefuseBody = (code: "body_too_large" | "invalid_json" | "unsupported_media_type", message: string) => Error;

/** Accepts JSON bodies only. An empty body is no body: many clients send a content type without one. */
export function registerJsonBody(app: FastifyInstance, refuse: RefuseBody): void {
  const parseJson = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    const encoding = request.headers["content-encoding"];
    if (encoding !== undefined && encoding !== "identity") {
      done(refuse("unsupported_media_type", `send the body without Content-Encoding, got "${encoding}"`));
      return;
    }
    if (body.length === 0) {
      done(null, undefined);
      return;
    }
    if (typeof body === "string" || !isUtf8(body)) {
      done(refuse("invalid_json", "the body is not valid UTF-8"));
      return;
    }
    // Before it is parsed: a few megabytes can be a million values, and parsing them seconds in which nothing is answered.
    const { values } = bodyLimitOf(request);
    const { excess, longStrings } = scanJson(body, { values, depth: MAX_BODY_DEPTH });
    if (excess !== undefined) {
      done(refuse("body_too_large", describeExcess(excess, values)));
      return;
    }
    // The parser answers through `done`; only its types allow a promise.
    const { text, restore } = shortenJson(body, longStrings);
    void parseJson(request, text, (error, value) => done(error, restore(value)));
  });
}

function describeExcess(excess: "values" | "depth", values: number): string {
  if (excess === "depth") return `the body is nested deeper than ${MAX_BODY_DEPTH}`;
  return `the body has more than ${values} values and names`;
}
