import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { UsageQuery, UsageReport } from "../../protocol/usage.ts";
import { reportUsage } from "../../runs/read/usage-report.ts";
import type { Storage } from "../../storage/storage.ts";
import { callerOf } from "../callers.ts";
import { refusals } from "../refusals.ts";

/** What runs have cost. */
export const usageRoutes: FastifyPluginAsyncZod<{ storage: Storage }> = async (app, { storage }) => {
  const usage = {
    tags: ["usage"],
    operationId: "getUsage",
    summary: "Read what runs have cost",
    description: "By days of UTC. Another user's only for those who manage that user.",
    querystring: UsageQuery,
    response: { 200: UsageReport, ...refusals("user_not_found") },
  };
  app.get("/api/usage", { schema: usage }, async (request) => reportUsage(storage, callerOf(request), request.query));
};
