import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { Problem } from "../../../../src/turnd/protocol/index.ts";
import { createApp, type AppOptions } from "../../../../src/turnd/daemon/http/app.ts";
import { createMetrics } from "../../../../src/turnd/daemon/http/routes/metrics.ts";
import { createTestFiles } from "../../../harness/file-service.ts";
import { createFakeService, type FakeService } from "./fake-service.ts";
import { createFakeTerminal } from "./fake-terminal.ts";

export interface TestApp {
  readonly app: FastifyInstance;
  readonly service: FakeService;
  /** Everything that was logged, debug included. */
  readonly logged: () => string;
}

/** What an app of this takes out of what it says. */
export const TEST_SECRET = "sk-of-this-test";

/** An app over a fake service, not listening. */
export async function createTestApp(options: Partial<AppOptions> = {}): Promise<TestApp> {
  const lines: string[] = [];
  const service = createFakeService();
  const app = await createApp({
    service,
    executors: ["cli-a", "cli-b"],
    terminal: createFakeTerminal(),
    files: createTestFiles(),
    maxFileBytes: 4 * 1024 ** 3,
    host: "127.0.0.1",
    logger: pino({ level: "debug" }, { write: (line: string) => void lines.push(line) }),
    redact: (text) => text.replaceAll(TEST_SECRET, "[redacted]"),
    bodies: { long: 1_000_000, plain: 65_536, values: 20_000 },
    maxStreams: 10,
    heartbeatMs: 60_000,
    metrics: createMetrics(),
    version: "0.1.0",
    uptimeMs: () => 1_234,
    isShuttingDown: () => false,
    ...options,
  });
  return { app, service, logged: () => lines.join("") };
}

/** Lets an app listen on a free port of loopback. */
export async function listen(app: FastifyInstance): Promise<{ port: number; url: string }> {
  await app.listen({ host: "127.0.0.1", port: 0 });
  const address = app.server.address();
  if (typeof address !== "object" || address === null) throw new Error("the app has no port");
  const { port } = address;
  return { port, url: `http://127.0.0.1:${port}` };
}

/** The body of a refusal, checked to have the form of one. */
export function problemOf(response: { json: () => unknown }): Problem["detail"] {
  return Problem.parse(response.json()).detail;
}
