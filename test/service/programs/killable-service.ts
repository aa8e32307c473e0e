// A service that kills itself, once, at a step of an attempt, of a deletion or of the knowledge base, or at a sandbox's start
// (`launch`): KILLABLE_STEP names it, KILLABLE_MARK is the file that is written when it was done. KILLABLE_PARSES is a file that gets a line for
// every parse that is begun or finished: process, step, file.
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { pino } from "pino";
import { createStaticSandboxes } from "../../../src/service/sandboxes/static/static.ts";
import { startService } from "../../../src/service/service.ts";
import { readSettings } from "../../../src/service/settings/settings.ts";
import { oneTurnd } from "../harness/one-turnd.ts";

const {
  KILLABLE_STEP: step,
  KILLABLE_MARK: mark = "",
  KILLABLE_ROLE: role = "serve",
  KILLABLE_PARSES: parses,
} = process.env;
if (role !== "serve" && role !== "api" && role !== "worker") throw new Error(`there is no role ${role}`);
const settings = readSettings(process.env, process.getuid?.() ?? 0);
const service = await startService({
  settings,
  role,
  logger: pino({ level: "info" }),
  version: "test",
  createSandboxes:
    process.env["KILLABLE_SANDBOXES"] === "pool"
      ? oneTurnd(settings.values.SERVICE_TURND_URLS[0] ?? "", {
          isGone: process.env["KILLABLE_GONE"] === "true",
          onLaunch: () => dieAt("launch"),
        }).createSandboxes
      : async ({ storage }) =>
          createStaticSandboxes({ storage, urls: settings.values.SERVICE_TURND_URLS, token: undefined }),
  onStep: dieAt,
  onDeletionStep: dieAt,
  onKnowledgeStep: (reached, id) => {
    if (parses !== undefined && (reached === "parse.claimed" || reached === "parse.finished"))
      appendFileSync(parses, `${process.pid} ${reached} ${id}\n`);
    dieAt(reached);
  },
});

function dieAt(reached: string): void {
  if (reached !== step || existsSync(mark)) return;
  writeFileSync(mark, reached);
  process.kill(process.pid, "SIGKILL");
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.on(signal, () => void service.stop().then(() => process.exit(0)));
}
