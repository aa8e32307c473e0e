import type { CliBCase } from "./case.ts";
import { TENTH_PROVIDER } from "./unseen-tenth-provider.ts";
import { TENTH_SESSIONS } from "./unseen-tenth-sessions.ts";
import { TENTH_START } from "./unseen-tenth-start.ts";
import { TENTH_TOOLS } from "./unseen-tenth-tools.ts";

/**
 * A second hold-out set that is as the shared recordings are: each of theirs has one here of the same kind of cause and the
 * same code, with other words, models, tools, files and arguments. Another examiner than the ninth's wrote it.
 */
export const TENTH_CASES: readonly CliBCase[] = [...TENTH_TOOLS, ...TENTH_SESSIONS, ...TENTH_PROVIDER, ...TENTH_START];
