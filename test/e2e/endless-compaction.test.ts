import { describe, expect, test } from "vitest";
import { say } from "../../src/scripted-model/reply.ts";
import { CLIS_A, shareStage } from "../harness/real-daemon.ts";

describe.each(CLIS_A)("$version", (cli) => {
  const stage = shareStage(cli, {
    // What is asked after a summary names no scenario.
    model: { scenarios: { assistant: () => say("Noted.") } },
    env: (baseURL) => ({
      CLI_A_JSON: JSON.stringify({
        model: "scripted/scripted",
        enabled_providers: ["scripted"],
        provider: {
          scripted: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL, apiKey: "{env:CLI_A_API_KEY}" },
            models: { scripted: { limit: { context: 1_000, output: 100 } } },
          },
        },
      }),
    }),
  });

  test("a conversation that is summarised without end is stopped, and the failure says so", async () => {
    const { failure, counts } = await stage().turnd.run({ executor: "cli-a", input: "@@text:Noted.@@" });
    expect(failure).toMatchObject({ code: "context_overflow", retryable: false, evidence: [{ source: "stderr" }] });
    expect(failure?.message).toContain("summarised the conversation 3 times");
    expect(counts.tools).toBe(0);
  });
});
