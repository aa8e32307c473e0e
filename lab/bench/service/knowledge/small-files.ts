import type { EngineName } from "../../../soak/service/stage.ts";
import { createRandom } from "../../../soak/random.ts";
import type { Figure } from "../../figures.ts";
import { section } from "./corpus.ts";
import { withKnowledge } from "./stage.ts";

const FILES = 1_000;
const WARM_UP = 50;
const FLOOR_PER_SECOND = 40;

/** Files of one chunk each, by one task that parses and indexes them. */
export async function benchSmallFiles(engine: EngineName, directory: string): Promise<Figure> {
  return withKnowledge(engine, directory, async (stage) => {
    const random = createRandom(3);
    const files = (count: number): [string, string][] =>
      Array.from({ length: count }, (_none, at) => [`${at}.md`, section(random, at)]);
    await stage.import(await stage.upload(files(WARM_UP)));
    const tookMs = await stage.import(await stage.upload(files(FILES)));
    const perSecond = FILES / (tookMs / 1_000);
    return {
      measure: `knowledge ${engine}: ${FILES} small files parsed and indexed by one task`,
      turnd: `${perSecond.toFixed(0)} files/s`,
      yardstick: `${FLOOR_PER_SECOND} files/s`,
      ratio: perSecond / FLOOR_PER_SECOND,
      target: ">= 1",
    };
  });
}
