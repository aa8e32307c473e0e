import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { defined } from "../src/kit/defined.ts";
import { exitCodeOf } from "./matrix/await-exit.ts";
import type { Cli } from "./matrix/cli.ts";
import { compareScenes } from "./matrix/compare.ts";
import { playScene } from "./matrix/play.ts";
import { describeProgress } from "./matrix/time-left.ts";
import { scenesOf, type Scene } from "./matrix/scene.ts";
import { PROVIDER_SCENES, SCENES } from "./matrix/scenes.ts";

const USAGE =
  "usage: node lab/matrix.ts --executor cli-a|cli-b --version <x.y.z> --binary <path> [--at-once <n>] [--to-the-end] [--tools <directory of rg>] [--scenes] <directory> [scene…]";

interface How {
  readonly atOnce: number;
  /** Lets CLI A repeat a request until it gives up, and does not end it after two failures. */
  readonly isToTheEnd: boolean;
}

/**
 * Plays scenes, each a run whose end is known beforehand, to a real CLI, leaves a labelled recording of each and reports what
 * turnd makes of them. They are fixtures once a person has looked through them.
 *
 * Needs root where a scene mounts a disk or the CLI is to run as another user. A recording that is there stays, so that a run
 * can be continued.
 * @returns how many turnd reads otherwise than their labels, and than the version of the image
 */
async function runScenes(cli: Cli, directory: string, scenes: readonly Scene[], how: How): Promise<number> {
  const root = join(directory, cli.executor, cli.version);
  const missing = scenes.filter(({ name }) => !existsSync(join(root, name, "turn.json")));
  const queue = missing.entries();
  const startedAt = performance.now();
  const work = async (): Promise<void> => {
    for (const [index, scene] of queue) {
      // A line for each, since they take minutes.
      console.error(`${describeProgress(index + 1, missing.length, startedAt, performance.now())}: ${scene.name}`);
      const { stop, ...rest } = scene;
      const isFree = how.isToTheEnd && stop?.by === "idle_timeout";
      await playScene(cli, isFree ? rest : scene, join(root, scene.name));
    }
  };
  await Promise.all(Array.from({ length: how.atOnce }, work));
  const wrong = await compareScenes(cli.executor, root, scenes);
  console.log(`${scenes.length} scenes below ${root}, ${wrong} neither as their labels say nor as before`);
  return wrong;
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
const executor = z.enum(["cli-a", "cli-b"]).safeParse(values.executor).data;
const { version, binary } = values;
const [directory, ...named] = positionals;
if (executor === undefined || version === undefined || binary === undefined || directory === undefined) {
  console.error(USAGE);
  process.exitCode = 2;
} else {
  const cli = { executor, version, binary: resolve(binary), ...defined({ toolsDirectory: values.tools }) };
  const all = scenesOf(executor, values.scenes ? SCENES : PROVIDER_SCENES);
  const scenes = all.filter(({ name }) => named.length === 0 || named.some((word) => name.startsWith(word)));
  if (scenes.length === 0) {
    console.error(`no scene of ${executor} begins with ${named.join(" or ")}`);
    process.exitCode = 2;
  } else {
    const how = { atOnce: Number(values["at-once"]), isToTheEnd: values["to-the-end"] };
    process.exitCode = await runScenes(cli, directory, scenes, how).then((wrong) => (wrong === 0 ? 0 : 1), exitCodeOf);
  }
}
