import { join } from "node:path";
import { replayLines } from "../../test/turnd/daemon/replay/replay-lines.ts";
import { judge, KNOWN_MISSES } from "./known-misses.ts";
import type { CliId, Scene } from "./scene.ts";

/** What turnd says of a recording, beside what its scene says it is. */
export interface Compared {
  readonly name: string;
  readonly outcome: string;
  /** The right one, and others that are defensible. Absent where no label knows the scene: a person has to judge. */
  readonly allowed?: readonly string[];
}

/**
 * Replays recordings and reports what is to be said of them.
 *
 * @returns how many are read neither as their labels say, nor as the version of the image is
 */
export async function compareScenes(cli: CliId, directory: string, scenes: readonly Scene[]): Promise<number> {
  let broken = 0;
  for (const { name, status, code, also = [] } of scenes) {
    const { ended } = await replayLines(join(directory, name));
    const outcome = ended.failure?.code ?? ended.status;
    const compared = status === undefined ? { name, outcome } : { name, outcome, allowed: [code ?? status, ...also] };
    const { line, breaks } = judge(compared, KNOWN_MISSES[cli]);
    if (line !== undefined) console.log(line);
    if (breaks) broken += 1;
  }
  return broken;
}
