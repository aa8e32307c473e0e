import { expect, test } from "vitest";
import { createRepeatFilter } from "../../../../src/turnd/daemon/executors/classification/repeats.ts";

test("after a retry the messages of the attempt that was cut are repeats, once each", () => {
  const repeats = createRepeatFilter();
  expect(["one", "two"].map((text) => repeats.isRepeat(text))).toEqual([false, false]);
  repeats.retried();
  expect(["one", "two", "two"].map((text) => repeats.isRepeat(text))).toEqual([true, true, false]);
});

test("another answer after a retry is shown, and what follows it too", () => {
  const repeats = createRepeatFilter();
  repeats.isRepeat("one");
  repeats.isRepeat("two");
  repeats.retried();
  expect(["other", "two"].map((text) => repeats.isRepeat(text))).toEqual([false, false]);
});

test("the same words in another request are shown", () => {
  const repeats = createRepeatFilter();
  repeats.isRepeat("one");
  repeats.answered();
  expect(repeats.isRepeat("one")).toBe(false);
  repeats.answered();
  expect(repeats.isRepeat("next")).toBe(false);
  repeats.retried();
  expect(repeats.isRepeat("one")).toBe(false);
});

test("a request that is made again before it showed anything has no repeats", () => {
  const repeats = createRepeatFilter();
  repeats.isRepeat("one");
  repeats.answered();
  repeats.retried();
  expect(repeats.isRepeat("one")).toBe(false);
  repeats.retried();
  expect(["one", "one"].map((text) => repeats.isRepeat(text))).toEqual([true, false]);
});

test("a request of any length is kept in bounded memory: its latest messages", () => {
  const repeats = createRepeatFilter();
  const texts = Array.from({ length: 50 }, (_, index) => `${index} ${"x".repeat(100_000)}`);
  for (const text of texts) repeats.isRepeat(text);
  repeats.retried();
  expect(repeats.isRepeat(texts.at(-1) ?? "")).toBe(true);
  expect(repeats.isRepeat(texts[0] ?? "")).toBe(false);
});
