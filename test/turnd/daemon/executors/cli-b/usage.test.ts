import { resolve } from "node:path";
import { expect, test } from "vitest";
import { cliB } from "../../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import type { TranslatorInput } from "../../../../../src/turnd/daemon/executors/contract/translator.ts";
import type { Usage } from "../../../../../src/turnd/protocol/index.ts";
import { listRecordings, play } from "../recordings.ts";

const THREAD = "01a1fd1a-5463-7e72-9eca-765c0aaffeed";
const total = (input: number, cached: number, output: number, reasoning: number): Usage => ({
  input_tokens: input,
  cached_input_tokens: cached,
  cache_write_tokens: 0,
  output_tokens: output,
  reasoning_tokens: reasoning,
});

function endOf(input: TranslatorInput, usage: string) {
  const translator = cliB.createTranslator(input);
  [`{"type":"thread.started","thread_id":"${THREAD}"}`, `{"type":"turn.completed","usage":${usage}}`].forEach(
    (text, index) => translator.push({ source: "stdout", number: index + 1, text, isTruncated: false }),
  );
  return translator.end({ exit: { code: 0, signal: null }, wasStopped: false });
}

const PRINTED = '{"input_tokens":300,"cached_input_tokens":120,"output_tokens":60,"reasoning_output_tokens":15}';

test("a new thread's total is the turn's own usage", () => {
  const ending = endOf({ requestedSession: null }, PRINTED);
  expect(ending.usage).toEqual(total(300, 120, 60, 15));
  expect(ending.usageAfter).toEqual(total(300, 120, 60, 15));
});

test("a resumed turn's usage is the difference to the total before", () => {
  const ending = endOf({ requestedSession: THREAD, usageBefore: total(200, 80, 40, 10) }, PRINTED);
  expect(ending.usage).toEqual(total(100, 40, 20, 5));
  expect(ending.usageAfter).toEqual(total(300, 120, 60, 15));
});

test("without the total before, a resumed turn's usage is unknown and the total is kept", () => {
  const ending = endOf({ requestedSession: THREAD }, PRINTED);
  expect(ending.usage).toBeUndefined();
  expect(ending.usageAfter).toEqual(total(300, 120, 60, 15));
});

test("zeros mean that the provider reported no usage, or that it was a review", () => {
  const zeros = '{"input_tokens":0,"cached_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0}';
  expect(endOf({ requestedSession: null }, zeros).usage).toBeUndefined();
});

test("a total that shrank makes the usage unknown", () => {
  const ending = endOf({ requestedSession: THREAD, usageBefore: total(900, 0, 60, 0) }, PRINTED);
  expect(ending.usage).toBeUndefined();
});

test.each(['"none"', "{}", '{"input_tokens":-1,"output_tokens":2}'])(
  "usage %s that cannot be read is unknown",
  (usage) => {
    const ending = endOf({ requestedSession: null }, usage);
    expect(ending.failure).toBeUndefined();
    expect(ending.usage).toBeUndefined();
    expect(ending.usageAfter).toEqual(total(0, 0, 0, 0));
  },
);

test("what a turn that was interrupted has used is in the usage of the next one", () => {
  const recordings = listRecordings(resolve(import.meta.dirname, "../../../../../fixtures"), "cli-b");
  const endOfRecording = (name: string, usageBefore?: Usage) => {
    const recording = recordings.find((each) => each.name.endsWith(`/${name}`));
    if (recording === undefined) throw new Error(`there is no recording ${name}`);
    return play(cliB, recording, usageBefore).ending;
  };
  const interrupted = endOfRecording("interrupted-in-tool");
  expect(interrupted.usage).toBeUndefined();
  // Real: the interrupted turn's request used 100 tokens of input, and so did the one of its resume.
  const next = endOfRecording("resume-after-interrupt", interrupted.usageAfter);
  expect(next.usage).toEqual(total(200, 80, 40, 10));
  expect(next.usageAfter).toEqual(total(200, 80, 40, 10));
});

test("a turn without a total keeps the one that was reported last", () => {
  const translator = cliB.createTranslator({ requestedSession: THREAD, usageBefore: total(200, 80, 40, 10) });
  const ending = translator.end({ exit: { code: 1, signal: null }, wasStopped: false });
  expect(ending.usage).toBeUndefined();
  expect(ending.usageAfter).toEqual(total(200, 80, 40, 10));
});
