import { isUtf8 } from "node:buffer";
import formbody from "@fastify/formbody";
import type { FastifyInstance } from "fastify";
import { ApiProblem } from "../api/problems.ts";

/** Accepts JSON, and forms, which the token route takes. An empty body is none. */
export async function registerBodies(app: FastifyInstance): Promise<void> {
  const parseJson = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  await app.register(formbody);
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    const encoding = request.headers["content-encoding"];
    if (encoding !== undefined && encoding !== "identity") {
      done(new ApiProblem("unsupported_media_type", `send the body without Content-Encoding, got "${encoding}"`));
    } else if (body.length === 0) {
      done(null, undefined);
    } else if (typeof body === "string" || !isUtf8(body)) {
      done(new ApiProblem("invalid_json", "the body is not valid UTF-8"));
    } else {
      // The parser answers through `done`; a promise it returns is the types' idea alone.
      void parseJson(request, body.toString("utf8"), done);
    }
  });
}
