import type { Scene } from "../scene.ts";
import { NINTH_ANSWERED } from "./unseen-ninth-answered.ts";
import { NINTH_CLI } from "./unseen-ninth-cli.ts";
import { NINTH_PROVIDER } from "./unseen-ninth-provider.ts";
import { NINTH_STOPS } from "./unseen-ninth-stops.ts";
import { NINTH_FAULTS } from "./unseen-ninth-streams.ts";
import { NINTH_TOOLS } from "./unseen-ninth-tools.ts";

/** One scene and more for each of the shared recordings, of the same cause and code, with other details. */
export const NINTH_SCENES: readonly Scene[] = [
  ...NINTH_TOOLS,
  ...NINTH_ANSWERED,
  ...NINTH_PROVIDER,
  ...NINTH_FAULTS,
  ...NINTH_CLI,
  ...NINTH_STOPS,
];
