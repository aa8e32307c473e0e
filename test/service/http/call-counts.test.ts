import { expect, onTestFinished, test, vi } from "vitest";
import { CallCounts } from "../../../src/service/http/call-counts.ts";

const MINUTE = 60_000;

/** A count, and what is asked of it. */
function setUp() {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const counts = new CallCounts();
  return (key: string) => {
    let counted: { current: number; ttl: number } | undefined;
    counts.incr(key, (_error, result) => (counted = result), MINUTE);
    return counted;
  };
}

test("calls of a minute are counted for each key, and a new minute begins at one", () => {
  const call = setUp();
  expect([call("a")?.current, call("a")?.current, call("b")?.current]).toEqual([1, 2, 1]);
  vi.advanceTimersByTime(MINUTE - 1);
  expect(call("a")).toEqual({ current: 3, ttl: 1 });
  vi.advanceTimersByTime(1);
  expect(call("a")).toEqual({ current: 1, ttl: MINUTE });
});

test("a clock that is set changes nothing", () => {
  const call = setUp();
  call("a");
  for (const hours of [-1, 24]) {
    vi.setSystemTime(Date.now() + hours * 3_600_000);
    const counted = call("a");
    expect(counted?.current).toBeGreaterThan(1);
    expect(counted?.ttl).toBe(MINUTE);
  }
});

test("of many keys those that call are kept", () => {
  const call = setUp();
  call("mine");
  for (let index = 0; index < 6_000; index += 1) {
    call(`other-${index}`);
    if (index % 1_000 === 0) call("mine");
  }
  expect(call("mine")?.current).toBe(8);
});
