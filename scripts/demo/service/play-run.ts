import { Submission } from "../../../src/service/protocol/runs.ts";
import { Thread } from "../../../src/service/protocol/threads.ts";
import type { CliName } from "../../../src/turnd/protocol/index.ts";
import { expectThat } from "../expect-that.ts";
import { followRun } from "./follow-run.ts";
import type { ServiceClient } from "./service-client.ts";

const QUERY = "Create a small program in the workspace, run it and read its output. Then tell me what it printed.";
const CUT_AFTER = 3;

/** One run on a real CLI: submitted twice, followed over a cut connection, its result read. @returns the thread */
export async function playRun(client: ServiceClient, agent: CliName): Promise<string> {
  const thread = await client.post(Thread, "/api/chat/thread", { agent_id: agent, title: "demo" });
  const request = {
    agent_slug: agent,
    thread_id: thread.id,
    query: QUERY,
    meta: { request_id: `demo-${agent}` },
  };
  console.log(`\n  ${agent}: "${QUERY}"`);
  const first = await client.post(Submission, "/api/agent/runs", request);
  const second = await client.post(Submission, "/api/agent/runs", request);
  const runId = first.run_id ?? "";
  expectThat(first.status === "dispatched" && runId !== "", "the run is dispatched at once", JSON.stringify(first));
  expectThat(second.run_id === runId, "the same request_id is the same run", JSON.stringify(second));
  console.log(`  ✓ submitted twice with one request_id: one run, ${runId}`);
  const { events, result, connections } = await followRun(client, runId, CUT_AFTER);
  expectThat(result.status === "completed", "the run completes", JSON.stringify(result.error ?? result.status));
  console.log(`  ✓ ${events.length} events over ${connections} connections, from 1 to ${events.length} without a gap`);
  expectThat(result.output !== "", "the result holds the agent's answer", "an empty output");
  console.log(`  ✓ the result of this run: ${result.output.replaceAll(/\s+/g, " ").slice(0, 160)}`);
  return thread.id;
}
