import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { exitCodeOf } from "./matrix/await-exit.ts";
import { compareRecordings, compareScenes } from "./matrix/compare.ts";
import { judge, KNOWN_MISSES } from "./matrix/known-misses.ts";
import { CASES, resolveUrl, startProviders, type Case } from "./matrix/provider.ts";
import { recordScene } from "./matrix/record-scene.ts";
import { recordRun, type Cli } from "./matrix/run-cli.ts";
import { describeProgress } from "./matrix/time-left.ts";
import type { Scene } from "./matrix/scene.ts";
import type { Stage } from "./matrix/scene-home.ts";
import { ANSWERED } from "./matrix/scenes/answered.ts";
import { CLI_FAILS } from "./matrix/scenes/cli-fails.ts";
import { PROVIDER_FAILS } from "./matrix/scenes/provider-fails.ts";
import { FIFTH_SCENES } from "./matrix/scenes/unseen-fifth.ts";
import { NINTH_SCENES } from "./matrix/scenes/unseen-ninth.ts";
import { SEVENTH_SCENES } from "./matrix/scenes/unseen-seventh.ts";
import { SIXTH_SCENES } from "./matrix/scenes/unseen-sixth.ts";
import { TENTH_SCENES } from "./matrix/scenes/unseen-tenth.ts";
import { UNSEEN_SCENES } from "./matrix/scenes/unseen.ts";

const USAGE =
  "usage: node lab/matrix.ts --executor cli-a|cli-b --version <x.y.z> --binary <path> [--at-once <n>] [--to-the-end] [--tools <directory of rg>] [--scenes] <directory> [case…]";
/** A CLI takes seconds to start, and on a loaded machine many. */
const LIMIT_MS = 120_000;

interface How {
  readonly atOnce: number;
  /** Does not end a run that has shown two failures: CLI A then takes a minute, and says all it has to say. */
  readonly isToTheEnd: boolean;
}

/**
 * Runs a real CLI against every way in which a provider may fail, leaves a recording of each and says what turnd makes of
 * them. A recording that is there stays, so that a run can be continued.
 *
 * @returns how many are not what the table of answers says, nor what the version of the image is read as
 */
async function runMatrix(cli: Cli, directory: string, cases: readonly Case[], how: How): Promise<number> {
  const root = join(directory, cli.executor, cli.version);
  const providers = await startProviders();
  try {
    await recordAll(root, cases, how.atOnce, (entry, target) => {
      const baseUrl = resolveUrl(entry.baseUrl, providers);
      return recordRun({ cli, case: entry, baseUrl, directory: target, limitMs: LIMIT_MS, isToTheEnd: how.isToTheEnd });
    });
  } finally {
    await providers.close();
  }
  const compared = await compareRecordings(
    cli,
    root,
    cases.map(({ name }) => name),
  );
  const judged = compared.map((one) => judge(one, KNOWN_MISSES[cli.executor]));
  for (const { line } of judged) if (line !== undefined) console.log(line);
  const broken = judged.filter(({ breaks }) => breaks).length;
  console.log(`${compared.length} recordings below ${root}, ${broken} neither as the table says nor as before`);
  return broken;
}

/**
 * Plays the scenes, each a run whose end is known beforehand, and leaves labelled recordings: fixtures, once a person has
 * looked through them.
 *
 * @returns how many turnd reads otherwise than their labels
 */
async function runScenes(
  stage: Omit<Stage, "origin" | "tls">,
  directory: string,
  scenes: readonly Scene[],
  atOnce: number,
): Promise<number> {
  const { cli } = stage;
  const root = join(directory, cli.executor, cli.version);
  const providers = await startProviders();
  try {
    await recordAll(root, scenes, atOnce, (scene, target) =>
      recordScene({ ...stage, origin: providers.origin, tls: providers.tls }, scene, target),
    );
  } finally {
    await providers.close();
  }
  const wrong = await compareScenes(root, scenes);
  for (const line of wrong) console.log(`! ${line}`);
  console.log(`${scenes.length} scenes below ${root}, ${wrong.length} not as their labels say`);
  return wrong.length;
}

/** One that is there stays, so that a run can be continued. Each that is played is a line on stderr: it takes minutes. */
async function recordAll<Entry extends { readonly name: string }>(
  root: string,
  entries: readonly Entry[],
  atOnce: number,
  record: (entry: Entry, target: string) => Promise<void>,
): Promise<void> {
  const missing = entries.filter(({ name }) => !existsSync(join(root, name, "turn.json")));
  const queue = missing.entries();
  const startedAt = performance.now();
  const work = async (): Promise<void> => {
    for (const [index, entry] of queue) {
      console.error(`${describeProgress(index + 1, missing.length, startedAt, performance.now())}: ${entry.name}`);
      await record(entry, join(root, entry.name));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

function chooseCases({ executor }: Cli, named: readonly string[]): readonly Case[] {
  const isSpoken = ({ name }: Case): boolean => executor === "cli-a" || !/^(?:chat|messages)-/.test(name);
  return CASES.filter(
    (entry) => isSpoken(entry) && (named.length === 0 || named.some((word) => entry.name.startsWith(word))),
  );
}

function chooseScenes({ executor }: Cli, named: readonly string[]): readonly Scene[] {
  const scenes =
    executor === "cli-a"
      ? [
          ...ANSWERED,
          ...PROVIDER_FAILS,
          ...CLI_FAILS,
          ...UNSEEN_SCENES,
          ...FIFTH_SCENES,
          ...SIXTH_SCENES,
          ...SEVENTH_SCENES,
          ...NINTH_SCENES,
          ...TENTH_SCENES,
        ]
      : [];
  return scenes.filter(({ name }) => named.length === 0 || named.some((word) => name.startsWith(word)));
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    executor: { type: "string" },
    version: { type: "string" },
    binary: { type: "string" },
    "at-once": { type: "string", default: "2" },
    "to-the-end": { type: "boolean", default: false },
    tools: { type: "string" },
    scenes: { type: "boolean", default: false },
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
  const atOnce = Number(values["at-once"]);
  const stage = { cli, ...(values.tools === undefined ? {} : { toolsDirectory: values.tools }) };
  const scenes = values.scenes ? chooseScenes(cli, named) : [];
  const cases = values.scenes ? [] : chooseCases(cli, named);
  if (scenes.length + cases.length === 0) {
    console.error(`no case of ${executor} begins with ${named.join(" or ")}`);
    process.exitCode = 2;
  } else {
    const run = values.scenes
      ? runScenes(stage, directory, scenes, atOnce)
      : runMatrix(cli, directory, cases, { atOnce, isToTheEnd: values["to-the-end"] });
    process.exitCode = await run.then((wrong) => (wrong === 0 ? 0 : 1), exitCodeOf);
  }
}
