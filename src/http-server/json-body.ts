import { isUtf8 } from "node:buffer";
import type { FastifyInstance } from "fastify";

/** Makes the refusal of a body. */
export type RefuseBody = (code: "invalid_json" | "unsupported_media_type", message: string) => Error;

/** Accepts JSON bodies and nothing else. An empty one is no body: many clients name the type of what they do not send. */
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
      // The parser answers through `done`; a promise it returns is the types' idea alone.
      void parseJson(request, body.toString("utf8"), done);
    }
  });
}
