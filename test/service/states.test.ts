import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { describeStates, STATES_PATH } from "../../scripts/generate/states.ts";
import { STATE_MACHINES } from "../../scripts/generate/state-machines.ts";

test("docs/states.md is that of the tables; `node scripts/generate/states.ts` makes it anew", () => {
  expect(readFileSync(STATES_PATH, "utf8")).toBe(describeStates());
});

test.each(STATE_MACHINES)("$title: every state is reached, and every step is between states of it", (machine) => {
  const { states, transitions } = machine;
  const named = transitions.flatMap(({ from, to }) => (from === undefined ? [to] : [from, to]));
  expect(named.filter((state) => !states.includes(state))).toEqual([]);
  expect(states.filter((state) => transitions.every(({ to }) => to !== state))).toEqual([]);
  const pairs = transitions.map(({ from, to }) => `${from} ${to}`);
  expect(new Set(pairs).size).toBe(pairs.length);
});
