import type { FastifyInstance } from "fastify";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Its body is large, and limited by its progress. */
    isUpload?: boolean;
  }
}

/** Cuts connections whose request has not arrived in full for so long. An upload may take longer: its route watches it. */
export function limitBodyTime(app: FastifyInstance, timeoutMs: number): void {
  app.addHook("onRequest", async ({ raw, routeOptions }) => {
    const hasBody = raw.headers["transfer-encoding"] !== undefined || Number(raw.headers["content-length"] ?? 0) > 0;
    if (!hasBody || routeOptions.config.isUpload === true) return;
    const timer = setTimeout(() => {
      if (!raw.complete) raw.destroy();
    }, timeoutMs);
    timer.unref();
    raw.once("end", () => clearTimeout(timer)).once("close", () => clearTimeout(timer));
  });
}
