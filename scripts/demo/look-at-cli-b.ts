import { setTimeout as delay } from "node:timers/promises";
import { ExecutorInfo } from "../../src/turnd/protocol/index.ts";

/** The state of CLI B at a turnd once its checks are done, which takes a while on a loaded machine. */
export async function lookAtCliB(url: string, signal: AbortSignal): Promise<ExecutorInfo> {
  for (;;) {
    const info = ExecutorInfo.parse(await (await fetch(`${url}/v1/executors/cli-b`, { signal })).json());
    if (info.checking !== true) return info;
    await delay(500, undefined, { signal });
  }
}
