import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ApiProblem, isProblemCode, PROBLEM_STATUS } from "../../../src/service/protocol/problems.ts";
import { REPOSITORY } from "../../harness/temporary.ts";

const SOURCE = join(REPOSITORY, "src/service");

test("a refusal of input has its place: a problem of status 422 is an InputProblem, which has a place", () => {
  const codes = Object.entries(PROBLEM_STATUS).flatMap(([code, status]) => (status === 422 ? [code] : []));
  expect(codes.length).toBeGreaterThan(10);
  const withoutPlace = new RegExp(`new ApiProblem\\(\\s*"(?:${codes.join("|")})"`);
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  expect(files.filter((name) => withoutPlace.test(readFileSync(join(SOURCE, name), "utf8")))).toEqual([]);
});

test("every refusal that is for now has a Retry-After, wherever it is thrown", () => {
  // These know the time themselves: until the next day, or the end of a window.
  const knowing = ["quota_exceeded", "too_many_codes"];
  const passing = Object.keys(PROBLEM_STATUS)
    .filter(isProblemCode)
    .filter((code) => [429, 503].includes(PROBLEM_STATUS[code]) && !knowing.includes(code));
  expect(passing.length).toBeGreaterThan(5);
  expect(passing.filter((code) => new ApiProblem(code, "").retryAfterSeconds === undefined)).toEqual([]);
  expect(new ApiProblem("rate_limited", "", {}, 42).retryAfterSeconds).toBe(42);
});
