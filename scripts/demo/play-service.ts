import { join } from "node:path";
import { expectThat } from "./expect-that.ts";
import { playAgentCall } from "./service/play-agent-call.ts";
import { playKey } from "./service/play-key.ts";
import { playKnowledge } from "./service/play-knowledge.ts";
import { playQueue } from "./service/play-queue.ts";
import { playRun } from "./service/play-run.ts";
import { startService, type ServiceProcess } from "./service/service-process.ts";

/**
 * The second half: the agent service in a directory of its own, used as its clients use it.
 *
 * @param env - providers and CLIs, and nothing of another service
 */
export async function playService(
  base: string,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  console.log("\nThe agent service: keys, threads, runs, streams, agent-calls");
  const directory = join(base, "service");
  let service: ServiceProcess | undefined = await startService(directory, env, signal);
  try {
    console.log(`  the service answers at ${service.url}; database, secrets and its own turnd in ${directory}`);
    const { client, key } = await playKey(service, signal);
    await playRun(client, "cli-a");
    const threadId = await playRun(client, "cli-b");
    console.log("\n  An agent-call, as an OpenAI client makes it");
    await playAgentCall(client);
    console.log("\n  A thread is a queue");
    await playQueue(client, threadId);
    console.log("\n  A knowledge base, with the command-line client");
    await playKnowledge({ client, key }, { url: service.url, base, signal });
    const code = await service.stop();
    service = undefined;
    expectThat(code === 0, "the service stops with exit code 0", String(code));
  } catch (error) {
    if (service !== undefined) console.error(`\nThe end of the service's log:\n${service.log.join("\n")}`);
    throw error;
  } finally {
    await service?.stop();
  }
}
