import type { FastifyInstance } from "fastify";

/** The body of the refusal, with a program's own code; the status is HTTP's, as for what is no HTTP. */
export function describeTwoHosts(code: string): {
  readonly detail: { readonly code: string; readonly message: string };
} {
  return { detail: { code, message: "send one Host header: this request has more than one" } };
}

/** Whether a request has more than one `Host`; Node keeps the first, and a proxy in front may have used another. */
export function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  // Names and values alternate.
  return rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length > 1;
}

/** Refuses such a request. @see RFC 9112 section 3.2: the answer is 400 */
export function requireOneHost(app: FastifyInstance, code: string): void {
  app.addHook("onRequest", async ({ raw }, reply) => {
    if (hasTwoHosts(raw.rawHeaders)) await reply.code(400).header("connection", "close").send(describeTwoHosts(code));
  });
}
