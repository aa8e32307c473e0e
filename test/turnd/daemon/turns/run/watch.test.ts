import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RequestSign } from "../../../../../src/turnd/daemon/executors/contract/translator.ts";
import { startWatch, type WatchOptions } from "../../../../../src/turnd/daemon/turns/run/watch.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watch(clocks: Partial<WatchOptions> = {}) {
  const fired: string[] = [];
  let hasOpenTool = false;
  const { observe, stop } = startWatch({
    startTimeoutMs: 60_000,
    idleTimeoutMs: 600_000,
    turnRemainingMs: 3_600_000,
    exitTimeoutMs: 0,
    isToolAtWork: () => hasOpenTool,
    onFire: (reason) => fired.push(reason),
    ...clocks,
  });
  const read = (stdoutBytes: number, request?: RequestSign): void =>
    observe({ stdoutBytes, request, isComplete: false, hasOpenTool });
  return {
    fired,
    stop,
    read,
    log: (request?: RequestSign): void => read(0, request),
    /** What is read shows that a tool has begun, or ended, and no byte of stdout. */
    setTool(isOpen: boolean): void {
      hasOpenTool = isOpen;
      read(1);
    },
  };
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
  const { fired, read, log, stop } = watch();
  read(1);
  read(1, "answered");
  vi.advanceTimersByTime(599_000);
  expect(fired).toEqual([]);
  vi.advanceTimersByTime(1_000);
  log("answered");
  expect(fired).toEqual(["idle_timeout"]);
  stop();
});

test("a start that takes longer than a CLI may be silent is no silence", () => {
  const { fired, log, read } = watch({ idleTimeoutMs: 5_000 });
  vi.advanceTimersByTime(30_000);
  log();
  vi.advanceTimersByTime(20_000);
  expect(fired).toEqual([]);
  read(1);
  vi.advanceTimersByTime(5_000);
  expect(fired).toEqual(["idle_timeout"]);
});

test("without a start timeout the idle clock runs from the start", () => {
  const { fired } = watch({ startTimeoutMs: 0, idleTimeoutMs: 5_000 });
  vi.advanceTimersByTime(5_000);
  expect(fired).toEqual(["idle_timeout"]);
});

test("once a tool has ended the CLI has all of its time, also where the tool took less than that", () => {
  for (const tookMs of [599_000, 1_200_000]) {
    const { fired, read, setTool } = watch();
    read(1);
    setTool(true);
    vi.advanceTimersByTime(tookMs);
    setTool(false);
    vi.advanceTimersByTime(599_000);
    expect(fired).toEqual([]);
    vi.advanceTimersByTime(1_000);
    expect(fired).toEqual(["idle_timeout"]);
  }
});
