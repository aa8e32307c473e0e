import { join } from "node:path";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { readConfigurations } from "../../src/turnd/daemon/serve/configurations.ts";
import { EXECUTORS } from "../../src/turnd/daemon/executors/registry.ts";
import { startDaemon } from "../../src/turnd/daemon/serve/daemon.ts";
import { readSettings } from "../../src/turnd/daemon/settings.ts";
import { createSecretBook } from "../../src/turnd/daemon/turns/store/secret-book.ts";
import { createClient, type Client } from "./client.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory, userDirectory } from "./temporary.ts";

/** A daemon in this very process, without a CLI: for what needs none, as often as wanted. */
export async function inProcessDaemon(env: Readonly<Record<string, string>> = {}): Promise<Client> {
  const directory = temporaryDirectory(onTestFinished);
  const settings = readSettings(
    {
      PATH: "/usr/local/bin:/usr/bin:/bin",
      TURND_PORT: "0",
      TURND_STATE_DIR: join(directory, "state"),
      TURND_HOME: userDirectory(join(directory, "home")),
      TURND_WORKSPACE: userDirectory(join(directory, "workspace")),
      TURND_RUN_AS: CLI_USER.isSelf ? "self" : "1000:1000",
      ...env,
    },
    { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
  );
  const daemon = await startDaemon({
    settings,
    configured: readConfigurations(settings, EXECUTORS),
    sandboxDirectory: join(REPOSITORY, "sandbox"),
    logger: pino({ level: "silent" }),
    secrets: createSecretBook([]),
  });
  onTestFinished(() => daemon.stop());
  return createClient(daemon.url);
}
