import { createRedactor } from "../../daemon/event-log/redact.ts";
import { readSettings } from "../../daemon/settings.ts";
import type { CommandLine } from "../definition.ts";
import { loadExecutors, self, untilStopped, type ExitCode, type Host } from "../host.ts";

/** `turnd doctor`. */
export function addDoctor({ program, settingsHint, perform }: CommandLine): void {
  program
    .command("doctor")
    .description("check everything turnd needs of this image or machine, one line per check")
    .option("--json", "print the checks as one JSON document")
    .addHelpText("after", `${settingsHint}\nExit code 1 on a fault.`)
    .action(({ json = false }: { json?: boolean }) => perform((host) => doctor(host, json)));
}

async function doctor(host: Host, isJson: boolean): Promise<ExitCode> {
  const { env, sandboxDirectory } = host;
  const executors = await loadExecutors(host);
  const [{ runDoctor }, { secretsOfEnvironment }] = await Promise.all([
    import("../doctor.ts"),
    import("../../daemon/serve/configurations.ts"),
  ]);
  return untilStopped((signal) =>
    runDoctor({
      readSettings: () => readSettings(env, self()),
      executors,
      sandboxDirectory,
      redact: createRedactor(secretsOfEnvironment(env, self(), executors)),
      isJson,
      out: process.stdout,
      signal,
    }),
  );
}
