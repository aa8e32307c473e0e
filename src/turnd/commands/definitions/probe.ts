import { nearest } from "../../../kit/command-line/nearest.ts";
import { PROBE_SCENARIOS } from "../../daemon/probe/scenarios.ts";
import type { CommandLine } from "../definition.ts";
import { loadExecutors, self, untilStopped, warnOfUnknownVariables, type ExitCode, type Host } from "../host.ts";
import { describeUnknownExecutor } from "./output-options.ts";

interface Options {
  readonly json?: boolean;
  readonly keep?: string;
  readonly scenario: readonly string[];
}

/** `turnd probe`. */
export function addProbe({ program, settingsHint, perform }: CommandLine): void {
  program
    .command("probe")
    .description("play scenarios with the installed CLIs and print how they differ from the versions turnd knows")
    .argument("[executor...]", "the CLIs to play with; all where none is named")
    .option("--json", "print the differences as one JSON document")
    .option("--keep <directory>", "write a recording of each scenario there, for `turnd replay --explain`")
    .option("--scenario <name>", "play only this scenario; may be given several times", addTo, [])
    .addHelpText("after", `${settingsHint}\nExit code 1 when a difference breaks turnd.`)
    .action((named: string[], options: Options) => perform((host) => probe(host, named, options)));
}

const addTo = (name: string, names: readonly string[]): readonly string[] => [...names, name];

async function probe(host: Host, named: readonly string[], options: Options): Promise<ExitCode> {
  const { json = false, keep, scenario: scenarios } = options;
  const executors = await loadExecutors(host);
  const unknown = describeUnknownExecutor(named, executors) ?? describeUnknownScenario(scenarios);
  if (unknown !== undefined) {
    process.stderr.write(`turnd: ${unknown}\n`);
    return 2;
  }
  warnOfUnknownVariables(host, executors);
  const { printProbe } = await import("../probe.ts");
  const probed = executors.filter(
    ({ id, builtAs }) => named.length === 0 || named.includes(id) || named.includes(builtAs),
  );
  return untilStopped((signal) =>
    printProbe(probed, {
      env: host.env,
      self: self(),
      executors,
      sandboxDirectory: host.sandboxDirectory,
      isJson: json,
      ...(scenarios.length === 0 ? {} : { scenarios }),
      ...(keep === undefined ? {} : { keepIn: keep }),
      out: process.stdout,
      err: process.stderr,
      signal,
    }),
  );
}

function describeUnknownScenario(scenarios: readonly string[]): string | undefined {
  const names = PROBE_SCENARIOS.map(({ name }) => name);
  const unknown = scenarios.find((name) => !names.includes(name));
  if (unknown === undefined) return undefined;
  const hint = nearest(unknown, names);
  const meant = hint === undefined ? "" : ` (Did you mean ${hint}?)`;
  return `there is no scenario ${JSON.stringify(unknown)}, only ${names.join(", ")}${meant}`;
}
