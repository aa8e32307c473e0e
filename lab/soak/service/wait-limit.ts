import type { Stage } from "./stage.ts";

/** How long a run, or a queue, may take once nothing of the service was killed any more. */
const QUIET_LIMIT_MS = 240_000;

/**
 * Makes the check of a wait: what is killed all the time has no limit, but what is left alone has to end in time.
 *
 * @returns whether it has waited for too long
 */
export function startWait(stage: Stage): () => boolean {
  const startedAt = performance.now();
  return () => performance.now() - Math.max(startedAt, stage.lastKillAt()) > QUIET_LIMIT_MS;
}
