import { expect, test } from "vitest";
import { createGrowth } from "../../../../../src/turnd/daemon/turns/store/growth.ts";

test("a session is followed for as long as anyone waits for its next turn", async () => {
  const growth = createGrowth();
  const [one, other] = [new AbortController(), new AbortController()];
  const waits = [growth.wait("session-1", one.signal), growth.wait("session-1", other.signal)];
  expect([growth.isAwaited("session-1"), growth.isAwaited("session-2")]).toEqual([true, false]);
  one.abort();
  await waits[0];
  expect(growth.isAwaited("session-1")).toBe(true);
  other.abort();
  await waits[1];
  expect(growth.isAwaited("session-1")).toBe(false);
});
