import type { FastifyInstance } from "fastify";
import { createBareApp, type BareAppOptions } from "./bare-app.ts";
import { registerGuard, type GuardOptions } from "./guard.ts";
import { metricsRoutes, type MetricsRoutesOptions } from "./routes/metrics.ts";
import { systemRoutes, type SystemOptions } from "./routes/system.ts";

export type WorkerAppOptions = Omit<BareAppOptions, "maxStreams"> & GuardOptions & SystemOptions & MetricsRoutesOptions;

/** What a process without an API answers: health, ready, info and metrics. */
export async function createWorkerApp(options: WorkerAppOptions): Promise<FastifyInstance> {
  const app = createBareApp({ ...options, maxStreams: 0 });
  registerGuard(app, options);
  app.decorateRequest("caller", null);
  await app.register(systemRoutes, options);
  await app.register(metricsRoutes, options);
  return app;
}
