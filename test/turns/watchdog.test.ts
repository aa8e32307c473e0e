import { expect, test } from "vitest";
import { fakeDaemon } from "../harness/fake-daemon.ts";

test("a CLI that prints nothing at all ends by the start time-out", async () => {
  const silent = await fakeDaemon({ TURND_START_TIMEOUT_MS: "400", TURND_PASS_ENV: "FAKE_SILENCE", FAKE_SILENCE: "1" });
  const result = await silent.run({ executor: "cli-b", input: "hello" });
  expect(result.failure).toMatchObject({ code: "start_timeout", retryable: true });
});

test("silence on stdout ends by the idle time-out, and a byte now and then keeps it going", async () => {
  const turnd = await fakeDaemon();
  const idle = await turnd.run({ executor: "cli-b", input: "hello\nhang", idle_timeout_ms: 4_000 });
  expect(idle.failure?.code).toBe("idle_timeout");
  expect(idle.output).toBe("hello");
  const busy = await turnd.run({ executor: "cli-b", input: "paced 32 0.2", idle_timeout_ms: 5_000 });
  expect(busy.status).toBe("completed");
});

test("noise on stderr alone does not keep a turn from its idle time-out", async () => {
  const turnd = await fakeDaemon();
  const noise = Array.from({ length: 50 }, () => "stderr tick\nsleep 0.1").join("\n");
  expect((await turnd.run({ executor: "cli-b", input: noise, idle_timeout_ms: 700 })).failure?.code).toBe(
    "idle_timeout",
  );
});

test("a busy turn ends by the turn time-out", async () => {
  const turnd = await fakeDaemon();
  const result = await turnd.run({ executor: "cli-b", input: "paced 1000 0.05", timeout_ms: 5_000 });
  expect(result.failure).toMatchObject({ code: "turn_timeout", retryable: false });
  expect(result.counts.records).toBeGreaterThan(2);
});

test("0 switches a time-out off", async () => {
  const turnd = await fakeDaemon({ TURND_IDLE_TIMEOUT_MS: "200", TURND_TURN_TIMEOUT_MS: "200" });
  const result = await turnd.run({ executor: "cli-b", input: "sleep 0.8", idle_timeout_ms: 0, timeout_ms: 0 });
  expect(result.status).toBe("completed");
});

test("more output than allowed ends the turn as storage_error, and what was written is kept", async () => {
  const turnd = await fakeDaemon({ TURND_MAX_OUTPUT_BYTES: "1000000" });
  const result = await turnd.run({ executor: "cli-b", input: "hello\nbytes 200000000\nhang" });
  expect(result.failure?.code).toBe("storage_error");
  expect((await turnd.events(result.turn_id)).some((event) => event.type === "message")).toBe(true);
});

test("more on stderr than allowed ends the turn too", async () => {
  const turnd = await fakeDaemon({ TURND_MAX_OUTPUT_BYTES: "1000000" });
  const flood = "shell while :; do head -c 100000 /dev/zero | tr '\\0' x; echo; done >&2";
  const result = await turnd.run({ executor: "cli-b", input: `hello\n${flood}` });
  expect(result.failure?.code).toBe("storage_error");
  expect(result.failure?.message).toContain("stderr");
});
