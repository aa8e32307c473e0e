import { parse } from "node:querystring";
import type { FastifyInstance } from "fastify";
import { bodyLimitOf } from "../../kit/http/body-limits.ts";
import { ApiProblem } from "../protocol/problems.ts";

const AMPERSAND = 0x26;

/** Accepts forms besides JSON; the token route's clients send them. */
export function registerFormBody(app: FastifyInstance): void {
  app.addContentTypeParser("application/x-www-form-urlencoded", { parseAs: "buffer" }, (request, body, done) => {
    const { values } = bodyLimitOf(request);
    if (typeof body === "string" || countPairs(body, values) > values) {
      done(new ApiProblem("body_too_large", `the form has more than ${values} pairs`));
      return;
    }
    done(null, parse(body.toString("utf8"), "&", "=", { maxKeys: 0 }));
  });
}

/** At most one more than `most`. */
function countPairs(form: Buffer, most: number): number {
  let pairs = 1;
  for (let at = form.indexOf(AMPERSAND); at !== -1 && pairs <= most; at = form.indexOf(AMPERSAND, at + 1)) pairs += 1;
  return pairs;
}
