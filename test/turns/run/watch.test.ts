import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startWatch } from "../../../src/daemon/turns/run/watch.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watch() {
  const fired: string[] = [];
  const clocks = { startTimeoutMs: 60_000, idleTimeoutMs: 600_000, turnRemainingMs: 3_600_000, exitTimeoutMs: 0 };
  const { observe, stop } = startWatch({
    ...clocks,
    isToolAtWork: () => false,
    onFire: (reason) => fired.push(reason),
  });
  const log = (request?: "asked" | "answered"): void => observe({ stdoutBytes: 0, request, isComplete: false });
  return { fired, observe, stop, log };
}

test("what a CLI logs before it works proves no start", () => {
  const { fired, log } = watch();
  vi.advanceTimersByTime(59_000);
  log();
  vi.advanceTimersByTime(1_000);
  expect(fired).toEqual(["start_timeout"]);
});

test("the start clock waits for the model's first answer, which must be printed then", () => {
  const { fired, log } = watch();
  log("asked");
  vi.advanceTimersByTime(599_000);
  expect(fired).toEqual([]);
  log("answered");
  vi.advanceTimersByTime(500);
  log("asked");
  log("answered");
  expect(fired).toEqual([]);
  vi.advanceTimersByTime(60_000);
  expect(fired).toEqual(["idle_timeout"]);
});

test("an answer of which nothing is printed ends by the start clock, whatever was logged", () => {
  const { fired, log } = watch();
  log("asked");
  vi.advanceTimersByTime(100_000);
  log("answered");
  log();
  vi.advanceTimersByTime(60_000);
  expect(fired).toEqual(["start_timeout"]);
});

test("a byte on stdout ends the start clock for good", () => {
  const { fired, observe, log, stop } = watch();
  observe({ stdoutBytes: 1, request: undefined, isComplete: false });
  observe({ stdoutBytes: 1, request: "answered", isComplete: false });
  vi.advanceTimersByTime(599_000);
  expect(fired).toEqual([]);
  vi.advanceTimersByTime(1_000);
  log("answered");
  expect(fired).toEqual(["idle_timeout"]);
  stop();
});
