import { createRedactor } from "../../daemon/event-log/redact.ts";
import { readSettings } from "../../daemon/settings.ts";
import type { CommandLine } from "../definition.ts";
import { loadExecutors, self, warnOfUnknownVariables, type ExitCode, type Host } from "../host.ts";

/** `turnd record`. */
export function addRecord({ program, settingsHint, perform }: CommandLine): void {
  program
    .command("record")
    .description("write an ended turn as a recording, secrets taken out")
    .argument("<turn_id>")
    .argument("<directory>")
    .addHelpText("after", settingsHint)
    .action((turnId: string, directory: string) => perform((host) => record(host, turnId, directory)));
}

async function record(host: Host, turnId: string, directory: string): Promise<ExitCode> {
  const executors = await loadExecutors(host);
  const [{ recordTurn }, { keysOf, readConfigurations, secretsOf }] = await Promise.all([
    import("../record.ts"),
    import("../../daemon/serve/configurations.ts"),
  ]);
  const settings = readSettings(host.env, self());
  warnOfUnknownVariables(host, executors);
  const configured = readConfigurations(settings, executors);
  if (keysOf(settings, configured).length === 0) {
    process.stderr.write(
      "turnd: warning: no key and no token is set here, so none can be taken out of the recording\n",
    );
  }
  const stateDirectory = settings.values.TURND_STATE_DIR;
  await recordTurn(turnId, directory, { stateDirectory, redact: createRedactor(secretsOf(settings, configured)) });
  process.stdout.write(`${directory}\n`);
  return 0;
}
