import { expect, test } from "vitest";
import { readAnswer, readDecision } from "../../../../src/turnd/commands/client/answer-asks.ts";

const ALL = ["accept", "accept_for_session", "decline", "cancel"];

test("one letter decides, what stands behind it is the reason, and anything else is asked again", () => {
  expect(readDecision("y", ALL)).toEqual({ decision: "accept" });
  expect(readDecision(" A ", ALL)).toEqual({ decision: "accept_for_session" });
  expect(readDecision("n use find instead", ALL)).toEqual({ decision: "decline", note: "use find instead" });
  expect(readDecision("c", ALL)).toEqual({ decision: "cancel" });
  for (const nothing of ["", "yes please", "no", "x", "1"]) expect(readDecision(nothing, ALL)).toBeUndefined();
  expect(readDecision("a", ["accept", "decline"])).toBeUndefined();
});

test("a question is answered by an option's number or name, and by a text where that can be", () => {
  const options = [{ label: "red" }, { label: "blue" }];
  const closed = { id: "q", text: "Which?", options, free_text: false, secret: false };
  expect(readAnswer("2", closed)).toEqual(["blue"]);
  expect(readAnswer("red", closed)).toEqual(["red"]);
  expect(readAnswer("green", closed)).toBeUndefined();
  expect(readAnswer("green", { ...closed, free_text: true })).toEqual(["green"]);
  expect(readAnswer("  ", { ...closed, free_text: true })).toBeUndefined();
});
