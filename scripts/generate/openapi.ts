import { readFileSync, writeFileSync } from "node:fs";
import { pino } from "pino";
import { EXECUTORS } from "../../src/turnd/daemon/executors/registry.ts";
import { createApp } from "../../src/turnd/daemon/http/app.ts";
import { createMetrics } from "../../src/turnd/daemon/http/routes/metrics.ts";
import { aliasesOf } from "../../src/turnd/daemon/turns/executors/executor-names.ts";
import { createTestFiles } from "../../test/harness/file-service.ts";
import { createFakeService } from "../../test/turnd/daemon/http/fake-service.ts";
import { createFakeTerminal } from "../../test/turnd/daemon/http/fake-terminal.ts";

/** Where the description of the API is kept. */
export const OPENAPI_PATH = new URL("../../openapi.json", import.meta.url);

/** The description of the API as the sources have it now, as the text of `openapi.json`. */
export async function renderOpenApi(): Promise<string> {
  const app = await createApp({
    service: createFakeService(),
    executors: EXECUTORS.map(({ id }) => id),
    executorAliases: aliasesOf(EXECUTORS),
    terminal: createFakeTerminal(),
    files: createTestFiles(),
    maxFileBytes: 1,
    host: "127.0.0.1",
    logger: pino({ level: "silent" }),
    redact: (text) => text,
    bodies: { long: 1, plain: 1, values: 20_000 },
    maxStreams: 1,
    heartbeatMs: 1,
    metrics: createMetrics(),
    version: readVersion(),
    uptimeMs: () => 0,
    isShuttingDown: () => false,
  });
  const document: unknown = (await app.inject("/openapi.json")).json();
  await app.close();
  return `${JSON.stringify(document, null, 2)}\n`;
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  if (typeof manifest !== "object" || manifest === null || !("version" in manifest)) {
    throw new Error("package.json has no version");
  }
  return String(manifest.version);
}

if (import.meta.main) writeFileSync(OPENAPI_PATH, await renderOpenApi());
