import { expect, test } from "vitest";
import { RETRY_WAITS } from "../../../src/service/storage/jobs.ts";
import { MOST_ATTEMPTS } from "../../../src/service/webhooks/deliver.ts";

/** pg-boss draws a wait of a retry between half of what has doubled and the whole of it, and cuts that at the limit. */
function totalHours(drawn: number): number {
  const { retryDelay, retryDelayMax } = RETRY_WAITS;
  const waits = Array.from({ length: MOST_ATTEMPTS - 1 }, (_, retry) => {
    const doubled = retryDelay * 2 ** Math.min(16, retry + 1);
    return Math.min(retryDelayMax, doubled * drawn);
  });
  return waits.reduce((sum, wait) => sum + wait, 0) / 3_600;
}

test("a delivery is tried for about a day", () => {
  expect(totalHours(0.5)).toBeGreaterThan(22);
  expect(totalHours(1)).toBeLessThan(26);
});
