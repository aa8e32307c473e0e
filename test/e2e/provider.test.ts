import { describe, expect, test } from "vitest";
import { CLI_A, CLI_B, CLIS_A, KEY, NEWEST_CLI_A, REAL_CLIS, shareStage } from "../harness/real-daemon.ts";

// They wait for timeouts: all at once.
describe.concurrent.each(REAL_CLIS)("$executor $version", (cli) => {
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

/** The newest gives up after five retries, the others never. */
const ENDLESS = CLIS_A.filter(({ version }) => version !== NEWEST_CLI_A.version);

describe.concurrent.each(ENDLESS)("$executor $version", (cli) => {
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
});

describe.concurrent("the newest cli-a", () => {
  // Without the header its own waits of the five take a minute.
  const limit = () => ({
    type: "refusal" as const,
    status: 429,
    code: "rate_limit_exceeded",
    message: "Rate limit reached for requests. Please try again in 1s.",
    headers: { "retry-after": "1" },
  });
  const stage = shareStage(NEWEST_CLI_A, { model: { scenarios: { limit } } });

  test("gives up by itself after five retries of a rate limit, as rate_limited", async () => {
    const { turnd } = stage();
    const result = await turnd.run({ executor: "cli-a", input: "@@limit@@" });
    expect(result).toMatchObject({
      status: "failed",
      failure: { code: "rate_limited", retryable: true },
      exit: { code: 1, signal: null },
    });
    const retries = (await turnd.events(result.turn_id)).filter((event) => event.type === "retry");
    expect(retries.map(({ data }) => data.code)).toEqual(Array.from({ length: 5 }, () => "rate_limited"));
  });
});

describe.concurrent.each(CLI_A)("$executor $version", (cli) => {
  const stage = shareStage(cli);

  test("answers that are none end the turn: but for 1.14.34 it would ask again for ever", async () => {
    const result = await stage().turnd.run({ executor: "cli-a", input: "@@html@@" });
    expect(result).toMatchObject({ status: "failed", failure: { code: "provider_error" } });
    expect(result.counts.records).toBeLessThan(100);
  });
});

describe.concurrent("cli-b", () => {
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

describe.concurrent("cli-b and a provider that has no such address", () => {
  const stage = shareStage(CLI_B, { model: { without: ["/responses"] } });

  test("the turn fails before the CLI starts, and the provider never sees the prompt", async () => {
    const { turnd, model } = stage();
    const result = await turnd.run({ executor: "cli-b", input: "@@text@@" });
    expect(result).toMatchObject({ status: "failed", failure: { code: "executor_unavailable" } });
    expect((await turnd.events(result.turn_id)).map(({ type }) => type)).toEqual(["turn.ended"]);
    expect(model.requests).toEqual([]);
  });
});
