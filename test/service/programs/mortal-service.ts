// A service that kills itself, once, at a step of an attempt: MORTAL_STEP names it, MORTAL_MARK is the file that says it was done.
import { existsSync, writeFileSync } from "node:fs";
import { pino } from "pino";
import { createStaticSandboxes } from "../../../src/service/sandboxes/static/static.ts";
import { startService } from "../../../src/service/service.ts";
import { readSettings } from "../../../src/service/settings.ts";

const { MORTAL_STEP: step, MORTAL_MARK: mark = "" } = process.env;
const settings = readSettings(process.env, process.getuid?.() ?? 0);
const service = await startService({
  settings,
  role: "serve",
  logger: pino({ level: "info" }),
  version: "test",
  createSandboxes: async ({ storage }) =>
    createStaticSandboxes({ storage, urls: settings.values.SERVICE_TURND_URLS, token: undefined }),
  onStep(reached) {
    if (reached !== step || existsSync(mark)) return;
    writeFileSync(mark, reached);
    process.kill(process.pid, "SIGKILL");
  },
});
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.on(signal, () => void service.stop().then(() => process.exit(0)));
}
