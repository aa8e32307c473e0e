import { AgentCall } from "../../../src/service/protocol/calls.ts";
import { expectThat } from "../expect-that.ts";
import type { ServiceClient } from "./service-client.ts";

/** A synchronous agent-call with OpenAI-style messages, and the same one again. */
export async function playAgentCall(client: ServiceClient): Promise<void> {
  const body = {
    agent_slug: "cli-a",
    request_id: "demo-agent-call",
    messages: [
      { role: "system", content: "You are brief." },
      {
        role: "user",
        content: [{ type: "text", text: "Say hello in one short sentence, without any tool. @@text@@" }],
      },
    ],
  };
  const path = "/api/agent-invocation/agent-call/runs";
  const answer = await client.post(AgentCall, path, body);
  const [choice] = answer.choices;
  expectThat(answer.status === "completed", "the agent-call completes", JSON.stringify(answer));
  expectThat(choice?.finish_reason === "stop", 'finish_reason is "stop"', String(choice?.finish_reason));
  console.log(`  ✓ OpenAI-style messages in, choices out: "${choice?.message.content.trim() ?? ""}"`);
  const again = await client.post(AgentCall, path, body);
  expectThat(again.run_id === answer.run_id, "the same request_id answers with the same run", String(again.run_id));
  console.log(`  ✓ the same call again is answered from the same run, ${answer.run_id}`);
}
