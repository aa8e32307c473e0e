import { expect, test } from "vitest";
import { backoffMs } from "../../../src/kit/retry/backoff.ts";
import { isPassingStatus, isServerSide, readStatus } from "../../../src/kit/retry/passing-status.ts";
import { readRetryAfter } from "../../../src/kit/retry/retry-after.ts";

test("each wait is twice the one before, up to the longest, and by chance up to half shorter", () => {
  const waits = { firstMs: 100, longestMs: 1_000 };
  for (const [failures, dueMs] of [100, 200, 400, 800, 1_000, 1_000].entries()) {
    const drawn = Array.from({ length: 200 }, () => backoffMs(waits, failures));
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(dueMs / 2);
    expect(Math.max(...drawn)).toBeLessThanOrEqual(dueMs);
    expect(new Set(drawn).size).toBeGreaterThan(1);
  }
  expect(backoffMs(waits, 10_000)).toBeLessThanOrEqual(1_000);
});

test("Retry-After is seconds or a date, which counts from the answer's own; anything else asks for nothing", () => {
  const read = (headers: Record<string, string>) => readRetryAfter(new Headers(headers));
  expect(read({ "retry-after": "7" })).toBe(7_000);
  const dated = { "retry-after": "Wed, 01 Jan 2025 00:00:09 GMT", date: "Wed, 01 Jan 2025 00:00:00 GMT" };
  expect(read(dated)).toBe(9_000);
  expect(read({ ...dated, date: "Wed, 01 Jan 2025 00:01:00 GMT" })).toBe(0);
  for (const value of ["", "-5", "1e3", "1.5", "soon"])
    expect([value, read({ "retry-after": value })]).toEqual([value, undefined]);
  expect(read({})).toBeUndefined();
});

test("which statuses pass is one table", () => {
  const meanings = Object.groupBy(
    [200, 301, 400, 401, 404, 408, 409, 422, 425, 429, 500, 501, 502, 503, 504, 505, 507, 520],
    readStatus,
  );
  expect(meanings).toEqual({
    answered: [200, 301],
    refused: [400, 401, 404, 409, 422],
    busy: [408, 425, 429, 503],
    fault: [500, 520],
    lasting: [501, 505, 507],
    gateway: [502, 504],
  });
  expect([503, 502, 500, 507, 404, 200].map(isPassingStatus)).toEqual([true, true, true, false, false, false]);
  expect([503, 502, 500, 507, 404, 200].map(isServerSide)).toEqual([true, true, true, true, false, false]);
});
