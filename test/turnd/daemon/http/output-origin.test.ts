import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { identifyLines } from "../../../../src/turnd/daemon/turns/replay/identify-output.ts";
import { EXECUTORS } from "../../../../src/turnd/daemon/executors/registry.ts";
import { REPOSITORY } from "../../../harness/temporary.ts";
import { createTestApp } from "./test-app.ts";

const options = { name: "the output", executors: EXECUTORS, advice: "choose the CLI" };

test("the first lines of output show which CLI printed them", () => {
  const linesOf = (path: string): string[] => readFileSync(join(REPOSITORY, "fixtures", path), "utf8").split("\n");
  const ofB = linesOf("cli-b/0.139.0/rate-limited/stdout.jsonl");
  expect(identifyLines(ofB, options).executor).toBe("cli-b");
  const ofA = linesOf("cli-a/1.14.34/bad-key/stdout.jsonl");
  expect(identifyLines(ofA, options).executor).toBe("cli-a");
  expect(() => identifyLines([...ofA, ...ofB], options)).toThrow(/cannot tell whose output it is.*choose the CLI$/);
  expect(() => identifyLines(["hello"], options)).toThrow(/none of its first 1 lines/);
  expect(() => identifyLines([], options)).toThrow(/is empty/);
});

test("only who may ask turnd anything may ask that", async () => {
  const { app } = await createTestApp({ token: "a-token-of-some-length" });
  const ask = { method: "POST", url: "/inspector/output-origin", payload: { lines: ["{}"] } } as const;
  expect((await app.inject(ask)).statusCode).toBe(401);
  const answer = await app.inject({ ...ask, headers: { authorization: "Bearer a-token-of-some-length" } });
  expect(answer.json()).toEqual({ executor: "cli-b" });
});
