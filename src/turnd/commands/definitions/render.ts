import { dirname, join } from "node:path";
import { readSettings, SettingsError } from "../../daemon/settings.ts";
import type { CommandLine } from "../definition.ts";
import { toRunAs } from "../../daemon/process/run-as.ts";
import { loadExecutors, self, warnOfUnknownVariables, type ExitCode, type Host } from "../host.ts";

/** `turnd render`. */
export function addRender({ program, settingsHint, perform }: CommandLine): void {
  program
    .command("render")
    .description("write the CLIs' configurations from the environment into the home of their user")
    .addHelpText("after", `${settingsHint}\nExit code 3 when that home cannot be written.`)
    .action(() => perform(render));
}

async function render(host: Host): Promise<ExitCode> {
  const executors = await loadExecutors(host);
  const settings = readSettings(host.env, self());
  warnOfUnknownVariables(host, executors);
  const [{ readConfigurations, renderConfigurations }, { assertPlaces }] = await Promise.all([
    import("../../daemon/serve/configurations.ts"),
    import("../../daemon/serve/check-directories.ts"),
  ]);
  assertPlaces(settings, dirname(host.sandboxDirectory));
  const configured = readConfigurations(settings, executors).filter(({ configuration }) => configuration.isConfigured);
  const faults = configured.flatMap(({ configuration }) => configuration.fault ?? []);
  // A key may come later, with the daemon's own environment; a configuration that the CLI would refuse may not.
  const isLater = (fault: (typeof faults)[number]): boolean => fault.code === "credential_missing";
  const refused = faults.filter((fault) => !isLater(fault));
  if (refused.length > 0) throw new SettingsError(refused.map((fault) => fault.message));
  const warnings = configured.flatMap(({ configuration }) => configuration.warnings);
  for (const warning of [...warnings, ...faults.filter(isLater).map((fault) => fault.message)]) {
    process.stderr.write(`turnd: warning: ${warning}\n`);
  }
  const home = settings.values.TURND_HOME;
  const runAs = toRunAs(settings.runAs, host.sandboxDirectory);
  const files = await renderConfigurations(configured, { home, runAs });
  if (files.length === 0) {
    const prefixes = executors.map(({ variablePrefix }) => `${variablePrefix}_*`).join(" or ");
    process.stderr.write(`turnd: nothing to render: no ${prefixes} variable is set\n`);
  }
  for (const file of files) process.stdout.write(`${join(home, file)}\n`);
  return 0;
}
