import { expect, test } from "vitest";
import { createShares } from "../../../src/service/protocol/shares.ts";

test("a user has at most a share of the places, all users together at most all, and what is given back is free again", () => {
  const shares = createShares({ most: 3, mostOfOne: 2, code: "too_many_uploads", what: "uploads" });
  const own = [shares.take(1), shares.take(1)];
  expect(() => shares.take(1)).toThrow("uploads of yours under way already: 2");
  const others = [shares.take(2)];
  expect(() => shares.take(3)).toThrow("uploads under way already: 3");
  own[0]?.();
  own[0]?.();
  expect(shares.count()).toBe(2);
  others.push(shares.take(3));
  expect(() => shares.take(1)).toThrow(expect.objectContaining({ code: "too_many_uploads", retryAfterSeconds: 5 }));
  for (const end of [...own, ...others]) end();
  expect(shares.count()).toBe(0);
});
