import { text } from "node:stream/consumers";
import { keepCertificatesChecked } from "../kit/command-line/checked-certificates.ts";
import { runCommandLine, type ExitCode } from "./commands/command-line.ts";
import { runDoctor } from "./commands/doctor.ts";
import { endCredentialsOf } from "./commands/end-credentials.ts";
import { migrateDatabase } from "./commands/migrate.ts";
import { describeService } from "./commands/openapi.ts";
import { ResetRefused, resetPasswordOf } from "./commands/reset-password.ts";
import { describeFault, runService } from "./commands/run.ts";
import { readSettings, type Settings } from "./settings/settings.ts";
import { VERSION } from "./version.ts";

/** Before the first connection. */
const env = keepCertificatesChecked(process.env);

async function main(args: readonly string[]): Promise<ExitCode> {
  return runCommandLine(args, {
    serve: () => run("serve"),
    api: () => run("api"),
    worker: () => run("worker"),
    async migrate() {
      await migrateDatabase(settings(), process.stdout);
      return 0;
    },
    async "reset-password"(username) {
      if (process.stdin.isTTY)
        throw new ResetRefused("the new password is read from standard input: send it there, see docs/service.md");
      await resetPasswordOf(settings(), username, { input: await text(process.stdin), out: process.stdout });
      return 0;
    },
    async "end-credentials"() {
      await endCredentialsOf(settings(), process.stdout);
      return 0;
    },
    doctor: async () => ((await runDoctor(settings(), process.stdout)) ? 0 : 1),
    async openapi() {
      process.stdout.write(`${JSON.stringify(await describeService(VERSION), null, 2)}\n`);
      return 0;
    },
  });
}

async function run(role: "serve" | "api" | "worker"): Promise<never> {
  return process.exit(await runService(role, settings()));
}

function settings(): Settings {
  return readSettings(env, process.getuid?.() ?? 0);
}

// No other user reads what a library writes without a mode of its own; each mode that others need is given.
process.umask(0o077);
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`svc-service: ${describeFault(error)}\n`);
  // At once: half a start must not keep the process running.
  process.exit(1);
}
