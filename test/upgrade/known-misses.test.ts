import { expect, test } from "vitest";
import { judge, KNOWN_MISSES } from "../../lab/matrix/known-misses.ts";
import { ANSWERS } from "../turnd/daemon/executors/answers/answers.ts";

const KNOWN = { quota: "rate_limited" };
const allowed = ["quota_exceeded"];

test("what is read otherwise breaks, unless it is read so of the version that the image takes", () => {
  expect(judge({ name: "quota", outcome: "unknown", allowed }, KNOWN)).toEqual({
    line: "! quota: unknown, not quota_exceeded",
    breaks: true,
  });
  expect(judge({ name: "other", outcome: "rate_limited", allowed }, KNOWN).breaks).toBe(true);
  expect(judge({ name: "quota", outcome: "rate_limited", allowed }, KNOWN)).toEqual({
    line: "  quota: rate_limited, not quota_exceeded, as before",
    breaks: false,
  });
});

test("what is right is no line, and what no table knows is for a person to judge", () => {
  expect(judge({ name: "quota", outcome: "quota_exceeded", allowed }, KNOWN)).toEqual({
    line: undefined,
    breaks: false,
  });
  expect(judge({ name: "new", outcome: "unknown" }, KNOWN)).toEqual({ line: "  new: unknown", breaks: false });
});

test("every known miss is of a case that the table of answers has", () => {
  const names = new Set(ANSWERS.map(({ name }) => name));
  const listed = Object.values(KNOWN_MISSES).flatMap((misses) => Object.keys(misses));
  expect(listed.length).toBeGreaterThan(0);
  expect(listed.filter((name) => !names.has(name))).toEqual([]);
});
