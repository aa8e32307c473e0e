import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { ExecutorInfo, ExecutorList } from "../../../protocol/index.ts";
import { ExecutorPath } from "../../../protocol/requests.ts";
import type { TurnService } from "../../turns/turn-service.ts";
import { refusals } from "../refusals.ts";

export interface ExecutorRoutesOptions {
  readonly service: TurnService;
}

const tags = ["executors"];

/** `/v1/executors`. */
export const executorRoutes: FastifyPluginAsyncZod<ExecutorRoutesOptions> = async (app, { service }) => {
  const list = {
    tags,
    operationId: "listExecutors",
    summary: "List executors",
    description: "Each with what `GET /v1/executors/{executor_id}` answers.",
    response: { 200: ExecutorList, ...refusals("shutting_down") },
  };
  app.get("/v1/executors", { schema: list }, async () => ({ executors: await service.listExecutors() }));

  const get = {
    tags,
    operationId: "getExecutor",
    summary: "Look at an executor",
    description:
      "Available or why not, versions, capabilities, and the effective configuration with secrets masked. A CLI that does not " +
      "answer is waited for two seconds at most; `checking` shows that.",
    params: ExecutorPath,
    response: { 200: ExecutorInfo, ...refusals("executor_not_found", "shutting_down") },
  };
  app.get("/v1/executors/:executor_id", { schema: get }, async ({ params }) => service.getExecutor(params.executor_id));
};
