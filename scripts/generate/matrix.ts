import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { compareRecordings } from "./matrix/compare.ts";
import { CASES, startProviders, type Case } from "./matrix/provider.ts";
import { recordRun, type Cli } from "./matrix/run-cli.ts";

const USAGE =
  "usage: node scripts/generate/matrix.ts --executor cli-a|cli-b --version <x.y.z> --binary <path> [--at-once <n>] <directory> [case…]";
/** A CLI takes seconds to start, and on a loaded machine many. */
const LIMIT_MS = 120_000;

/**
 * Runs a real CLI against every way in which a provider may fail, leaves a recording of each and says what turnd makes of
 * them. A recording that is there stays, so that a run can be continued.
 *
 * @returns how many are not what the table of answers says
 */
async function runMatrix(cli: Cli, directory: string, cases: readonly Case[], atOnce: number): Promise<number> {
  const providers = await startProviders();
  const root = join(directory, cli.executor, cli.version);
  const queue = cases.values();
  const work = async (): Promise<void> => {
    for (const entry of queue) {
      const target = join(root, entry.name);
      if (existsSync(join(target, "turn.json"))) continue;
      const { host } = new URL(providers.origin);
      const baseUrl = entry.baseUrl.replace("{origin}", providers.origin).replace("{host}", host);
      await recordRun({ cli, case: entry, baseUrl, directory: target, limitMs: LIMIT_MS });
    }
  };
  try {
    await Promise.all(Array.from({ length: atOnce }, work));
  } finally {
    await providers.close();
  }
  const compared = await compareRecordings(
    cli,
    root,
    cases.map(({ name }) => name),
  );
  const wrong = compared.filter(({ outcome, expected }) => expected !== undefined && expected !== outcome);
  for (const { name, outcome, expected } of compared) {
    if (expected === undefined) console.log(`  ${name}: ${outcome}`);
    else if (expected !== outcome) console.log(`! ${name}: ${outcome}, not ${expected}`);
  }
  console.log(`${compared.length} recordings below ${root}, ${wrong.length} not as the table says`);
  return wrong.length;
}

function chooseCases({ executor }: Cli, named: readonly string[]): readonly Case[] {
  const isSpoken = ({ name }: Case): boolean => executor === "cli-a" || !/^(?:chat|messages)-/.test(name);
  return CASES.filter(
    (entry) => isSpoken(entry) && (named.length === 0 || named.some((word) => entry.name.startsWith(word))),
  );
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    executor: { type: "string" },
    version: { type: "string" },
    binary: { type: "string" },
    "at-once": { type: "string", default: "2" },
  },
});
/** The CLIs that `matrix/run-cli.ts` can drive without turnd. */
const Driven = z.enum(["cli-a", "cli-b"]);
const executor = Driven.safeParse(values.executor).data;
const { version, binary } = values;
const [directory, ...named] = positionals;
if (executor === undefined || version === undefined || binary === undefined || directory === undefined) {
  console.error(USAGE);
  process.exitCode = 2;
} else {
  const cli = { executor, version, binary };
  const wrong = await runMatrix(cli, directory, chooseCases(cli, named), Number(values["at-once"]));
  process.exitCode = wrong === 0 ? 0 : 1;
}
