import { describe, expect, test } from "vitest";
import { CLI_A, CLI_B, KEY, REAL_CLIS, shareStage } from "../harness/real-daemon.ts";

describe.each(REAL_CLIS)("$executor $version", (cli) => {
  const stage = shareStage(cli, { model: { apiKey: `not-${KEY}` } });

  test("a wrong key ends the turn as auth_failed, with the lines that show it", async () => {
    const result = await stage().turnd.run({ executor: cli.executor, input: "@@text@@" });
    expect(result).toMatchObject({
      status: "failed",
      failure: { code: "auth_failed", retryable: false, user_action: "credentials" },
    });
    expect(result.failure?.evidence[0]?.text).toMatch(/401|Incorrect API key/);
  });
});

// They wait for timeouts: all at once.
describe.concurrent.each(CLI_A)("$executor $version", (cli) => {
  const stage = shareStage(cli);

  test("a rate limit that never ends is ended by the idle timeout, as rate_limited", async () => {
    const { turnd } = stage();
    // Longer than the CLI takes to start on a loaded machine: it retries for ever without output on stdout.
    const result = await turnd.run({ executor: "cli-a", input: "@@rate-limit@@", idle_timeout_ms: 25_000 });
    expect(result).toMatchObject({ status: "failed", failure: { code: "rate_limited", retryable: true } });
    expect(result.failure?.evidence[0]).toMatchObject({ source: "stderr", text: expect.stringContaining("429") });
    expect(result.duration_ms).toBeGreaterThanOrEqual(25_000);
    const retries = (await turnd.events(result.turn_id)).filter((event) => event.type === "retry");
    expect(retries.length).toBeGreaterThan(0);
    expect(retries[0]?.data.code).toBe("rate_limited");
  });

  test("answers that are none end the turn: 1.3.2 alone would ask again for ever", async () => {
    const result = await stage().turnd.run({ executor: "cli-a", input: "@@html@@" });
    expect(result).toMatchObject({ status: "failed", failure: { code: "provider_error" } });
    expect(result.counts.records).toBeLessThan(100);
  });
});

describe.concurrent("cli-b 0.139.0", () => {
  const stage = shareStage(CLI_B);
  const executor = "cli-b";

  test("a provider without the Responses API is executor_unavailable", async () => {
    const result = await stage().turnd.run({ executor, input: "@@no-api@@" });
    expect(result).toMatchObject({ status: "failed", failure: { code: "executor_unavailable" } });
  });

  test("a provider that takes the request and never answers is ended by the idle timeout", async () => {
    const result = await stage().turnd.run({ executor, input: "@@hang@@", idle_timeout_ms: 5_000 });
    expect(result).toMatchObject({
      status: "failed",
      failure: { code: "idle_timeout", retryable: true },
      exit: { code: 1, signal: null },
    });
  });
});

describe.concurrent("cli-b 0.139.0 and a provider that has no such address", () => {
  const stage = shareStage(CLI_B, { model: { without: ["/responses"] } });

  test("the turn fails before the CLI starts, and the provider never sees the prompt", async () => {
    const { turnd, model } = stage();
    const result = await turnd.run({ executor: "cli-b", input: "@@text@@" });
    expect(result).toMatchObject({ status: "failed", failure: { code: "executor_unavailable" } });
    expect((await turnd.events(result.turn_id)).map(({ type }) => type)).toEqual(["turn.ended"]);
    expect(model.requests).toEqual([]);
  });
});
