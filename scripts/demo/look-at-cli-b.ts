import { setTimeout as delay } from "node:timers/promises";
import { ExecutorInfo } from "../../src/turnd/protocol/index.ts";

/** What a turnd knows of CLI B once it has asked all it asks, which a loaded machine does not answer at once. */
export async function lookAtCliB(url: string, signal: AbortSignal): Promise<ExecutorInfo> {
  for (;;) {
    const info = ExecutorInfo.parse(await (await fetch(`${url}/v1/executors/cli-b`, { signal })).json());
    if (info.checking !== true) return info;
    await delay(500, undefined, { signal });
  }
}
