import { setTimeout as delay } from "node:timers/promises";
import type { ExecutorInfo } from "../../protocol/index.ts";
import type { ProbeStage } from "./play.ts";

const ASK_AGAIN_MS = 250;

/** What the stage knows of a CLI once it has been asked all: a client of HTTP is answered before that, a probe has time. */
export async function lookAtCli({ service }: ProbeStage, executor: string): Promise<ExecutorInfo> {
  for (;;) {
    const info = await service.getExecutor(executor);
    if (info.checking !== true) return info;
    await delay(ASK_AGAIN_MS);
  }
}
