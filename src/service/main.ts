import { runDoctor } from "./doctor-command.ts";
import { describeService } from "./openapi-command.ts";
import { migrateDatabase } from "./migrate-command.ts";
import { describeFault, runService } from "./run-command.ts";
import { readSettings, type Settings } from "./settings.ts";
import { VERSION } from "./version.ts";

const USAGE = `usage: svc-service serve     the API and the workers in one process (the default)
       svc-service api       the API alone; needs DATABASE_URL
       svc-service worker    workers alone; needs DATABASE_URL
       svc-service migrate   bring the database to this version's schema
       svc-service doctor    look at everything the service needs of this machine
       svc-service openapi   print the description of the API
`;

/** Exit codes: 0 done, 1 a fault that the message names, 2 wrong arguments. */
type ExitCode = 0 | 1 | 2;

async function main(args: readonly string[]): Promise<ExitCode> {
  const [command = "serve", ...rest] = args;
  if (rest.length > 0) return wrong(`${command} takes no arguments`);
  switch (command) {
    case "serve":
    case "api":
    case "worker":
      return process.exit(await runService(command, settings()));
    case "migrate":
      await migrateDatabase(settings(), process.stdout);
      return 0;
    case "doctor":
      return (await runDoctor(settings(), process.stdout)) ? 0 : 1;
    case "openapi":
      process.stdout.write(`${JSON.stringify(await describeService(VERSION), null, 2)}\n`);
      return 0;
    default:
      return wrong(`unknown command "${command}"`);
  }
}

function settings(): Settings {
  return readSettings(process.env, process.getuid?.() ?? 0);
}

function wrong(message: string): ExitCode {
  process.stderr.write(`svc: ${message}\n${USAGE}`);
  return 2;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`svc: ${describeFault(error)}\n`);
  // At once: half a start must not keep the process alive.
  process.exit(1);
}
