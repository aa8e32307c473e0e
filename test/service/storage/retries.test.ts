import { expect, test } from "vitest";
import { DAY_OF_RETRIES } from "../../../src/service/storage/jobs.ts";

/** pg-boss draws a wait of a retry between half of what has doubled and the whole of it, and cuts that at the limit. */
function totalHours(drawn: number): number {
  const { retryLimit, retryDelay, retryDelayMax } = DAY_OF_RETRIES;
  const waits = Array.from({ length: retryLimit }, (_, retry) => {
    const doubled = retryDelay * 2 ** Math.min(16, retry + 1);
    return Math.min(retryDelayMax, doubled * drawn);
  });
  return waits.reduce((sum, wait) => sum + wait, 0) / 3_600;
}

test("what is tried for about a day is tried for about a day", () => {
  expect(totalHours(0.5)).toBeGreaterThan(22);
  expect(totalHours(1)).toBeLessThan(26);
});
