import type { Scene } from "../scene.ts";
import { TENTH_ANSWERED } from "./unseen-tenth-answered.ts";
import { TENTH_CLI } from "./unseen-tenth-cli.ts";
import { TENTH_PROVIDER } from "./unseen-tenth-provider.ts";
import { TENTH_STOPS } from "./unseen-tenth-stops.ts";
import { TENTH_TOOLS } from "./unseen-tenth-tools.ts";

/**
 * A second hold-out set that is as the shared recordings are: each of theirs has one here of the same kind of cause and the
 * same code, with other words, models, tools, files and arguments. Another examiner than the ninth's wrote it.
 */
export const TENTH_SCENES: readonly Scene[] = [
  ...TENTH_TOOLS,
  ...TENTH_ANSWERED,
  ...TENTH_STOPS,
  ...TENTH_PROVIDER,
  ...TENTH_CLI,
];
