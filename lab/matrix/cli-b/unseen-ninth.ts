import type { CliBCase } from "./case.ts";
import { NINTH_PROVIDER_CASES } from "./unseen-ninth-provider.ts";
import { NINTH_SESSION_CASES } from "./unseen-ninth-sessions.ts";
import { NINTH_START_CASES } from "./unseen-ninth-start.ts";
import { NINTH_TOOL_CASES } from "./unseen-ninth-tools.ts";

/** One case and more for each of the shared recordings, of the same cause and code, with other details. */
export const NINTH_CASES: readonly CliBCase[] = [
  ...NINTH_TOOL_CASES,
  ...NINTH_SESSION_CASES,
  ...NINTH_PROVIDER_CASES,
  ...NINTH_START_CASES,
];
