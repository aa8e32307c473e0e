import { pino } from "pino";
import { createStaticSandboxes } from "../../src/service/sandboxes/static/static.ts";
import { startService } from "../../src/service/service.ts";
import { readSettings } from "../../src/service/settings.ts";

/** A service of its own process that ends itself by SIGKILL at the step of an attempt that `DIE_AT` names. Prints its address. */
const { DIE_AT: step, ...env } = process.env;
const settings = readSettings(env, process.getuid?.() ?? 0);
const service = await startService({
  settings,
  role: "serve",
  logger: pino({ level: "silent" }),
  version: "test",
  createSandboxes: async ({ storage }) =>
    createStaticSandboxes({ storage, urls: settings.values.SERVICE_TURND_URLS, token: undefined }),
  onStep(reached) {
    if (reached === step) process.kill(process.pid, "SIGKILL");
  },
});
process.once("SIGTERM", () => void service.stop().then(() => process.exit(0)));
process.stdout.write(`${service.url}\n`);
