import { isUtf8 } from "node:buffer";
import type { FastifyInstance } from "fastify";

/** Makes the problem for a refused body. */
export type RefuseBody = (code: "invalid_json" | "unsupported_media_type", message: string) => Error;

/** Accepts JSON bodies only. An empty body is no body: many clients send a content type without one. */
export function registerJsonBody(app: FastifyInstance, refuse: RefuseBody): void {
  const parseJson = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    const encoding = request.headers["content-encoding"];
    if (encoding !== undefined && encoding !== "identity") {
      done(refuse("unsupported_media_type", `send the body without Content-Encoding, got "${encoding}"`));
    } else if (body.length === 0) {
      done(null, undefined);
    } else if (typeof body === "string" || !isUtf8(body)) {
      done(refuse("invalid_json", "the body is not valid UTF-8"));
    } else {
      // The parser answers through `done`; the types alone allow it to return a promise.
      void parseJson(request, body.toString("utf8"), done);
    }
  });
}
