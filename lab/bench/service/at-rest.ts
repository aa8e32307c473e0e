import { setTimeout as delay } from "node:timers/promises";
import type { Figure } from "../figures.ts";
import { cpuSeconds } from "./cpu-time.ts";
import type { ServiceStage } from "./service-stage.ts";

/** V8 collects once, for a quarter of a second, when a process has been still for half a minute: that is no rest yet. */
const SETTLE_MS = 45_000;
const REST_MS = 30_000;

/** CPU time of a service without requests. */
export async function benchAtRest({ engine, stage }: ServiceStage): Promise<Figure> {
  await delay(SETTLE_MS);
  const [before, startedAt] = [cpuSeconds(stage.service.pid()), performance.now()];
  await delay(REST_MS);
  const share = (100_000 * (cpuSeconds(stage.service.pid()) - before)) / (performance.now() - startedAt);
  return {
    measure: `${engine}: the service at rest, CPU time in ${REST_MS / 1_000} s`,
    turnd: `${share.toFixed(2)} %`,
    yardstick: "1 % of a core",
    ratio: share,
    target: "<= 1",
  };
}
