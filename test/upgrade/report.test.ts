import { expect, test } from "vitest";
import { findUpgradable } from "../../scripts/upgrade/candidate.ts";
import { describeProgress } from "../../lab/matrix/time-left.ts";
import { describeDuration, writeReport } from "../../scripts/upgrade/report.ts";
import type { StepResult } from "../../scripts/upgrade/steps.ts";

const cli = findUpgradable("codex");
if (cli === undefined) throw new Error("codex can be upgraded");
const TRIAL = { cli, version: "9.9.9", directory: "/kept" };

const MEASURED = ["2.0.0", "9.0.0"] as const;

const PROBE: StepResult = {
  name: "probe",
  exitCode: 1,
  output: `cli-b: …
  23 scenarios …

  BREAKS
    missing event: plan.updated  [todo]

  CHANGED, …
    new event: warning
`,
};
const MATRIX: StepResult = { name: "matrix", exitCode: 0, output: "  hang: idle_timeout\n5 recordings\n" };

test("what breaks is named, with where the whole is; what is merely new is not", () => {
  const { text, isBroken } = writeReport(TRIAL, [PROBE, MATRIX], "beside", MEASURED);
  expect(isBroken).toBe(true);
  expect(text).toContain("probe: exit code 1 (/kept/probe.txt)\n      missing event: plan.updated  [todo]\n");
  expect(text).toContain("matrix: nothing breaks (/kept/matrix.txt)\n");
  expect(text).not.toContain("new event: warning");
  expect(text).toContain("what breaks above");
  expect(text).toContain("fixtures/cli-b/9.9.9/");
});

test("what was left out is named: that nothing breaks is said of what was run", () => {
  const all = (["probe", "matrix", "scenes", "tests"] as const).map((name) => ({ name, exitCode: 0, output: "" }));
  expect(writeReport(TRIAL, [MATRIX], "beside", MEASURED).text).toContain("not run: probe, scenes, tests\n");
  expect(writeReport(TRIAL, [MATRIX], "beside", MEASURED).text).toContain("- nothing breaks in what was run\n");
  const { text } = writeReport(TRIAL, all, "beside", MEASURED);
  expect(text).not.toContain("not run");
  expect(text).toContain("- nothing breaks\n");
});

test("each find has what to do about it, and a step that did not run to its end its last words", () => {
  const wrong: StepResult = { name: "scenes", exitCode: 1, output: "1 of 2: a\n! a: unknown, not auth_failed\n" };
  const stopped: StepResult = { name: "matrix", exitCode: 1, output: "1 of 2: a\n\nError: no space left\n" };
  const { text } = writeReport(TRIAL, [wrong, stopped], "beside", MEASURED);
  expect(text).toContain("`bin/turnd replay --explain /kept/scenes/cli-b/9.9.9/<name>` names the rule");
  expect(text).toContain(
    "matrix: did not run to its end (exit code 1) (/kept/matrix.txt)\n  1 of 2: a\n  Error: no space left\n",
  );
  expect(text).toContain("git checkout sandbox/versions");
});

test("a test that fails is named with the first line of why, and how to run it again", () => {
  const output = [
    " \u001B[32m✓\u001B[39m real test/e2e/plan.test.ts (2 tests)",
    "",
    "⎯⎯⎯⎯⎯⎯⎯ Failed Tests 2 ⎯⎯⎯⎯⎯⎯⎯",
    "",
    "\u001B[41m FAIL \u001B[49m real test/e2e/stop.test.ts > 9.9.9 > a turn ends",
    "AssertionError: expected 1 to be 2",
    " ❯ test/e2e/stop.test.ts:3:1",
    "",
    " FAIL  real test/e2e/turns.test.ts > 9.9.9 > a turn runs",
    " FAIL  real test/e2e/turns.test.ts > 9.9.9 > another runs",
    "Error: no version",
    "",
    " Test Files  2 failed | 1 passed (3)",
  ].join("\n");
  const { text } = writeReport(TRIAL, [{ name: "tests", exitCode: 1, output }], "beside", MEASURED);
  expect(text).toContain(
    [
      "tests: exit code 1 (/kept/tests.txt)",
      "  FAIL  real test/e2e/stop.test.ts > 9.9.9 > a turn ends",
      "    AssertionError: expected 1 to be 2",
      "  FAIL  real test/e2e/turns.test.ts > 9.9.9 > a turn runs",
      "  FAIL  real test/e2e/turns.test.ts > 9.9.9 > another runs",
      "    Error: no version",
      "  Test Files  2 failed | 1 passed (3)",
      "      again, after a change: npm run upgrade-cli -- cli-b 9.9.9 --skip probe --skip matrix --skip scenes --test <file>",
    ].join("\n"),
  );
});

test("a step that cannot be run breaks, whatever it printed; where nothing is pinned that is left to decide", () => {
  const { text, isBroken } = writeReport(TRIAL, [{ ...MATRIX, exitCode: 2, output: "" }], "none", MEASURED);
  expect(isBroken).toBe(true);
  expect(text).toContain("matrix: did not run to its end (exit code 2)");
  expect(text).toContain("npm run upgrade-cli -- cli-b 9.9.9");
  expect(writeReport(TRIAL, [MATRIX], "beside", MEASURED).isBroken).toBe(false);
});

test("a scene that turnd reads otherwise than its label is named", () => {
  const scenes: StepResult = {
    name: "scenes",
    exitCode: 1,
    output: "! bad-key: unknown, not auth_failed\n2 scenes below /x\n",
  };
  const { text } = writeReport(TRIAL, [scenes], "beside", MEASURED);
  expect(text).toContain(
    "scenes: exit code 1 (/kept/scenes.txt)\n  ! bad-key: unknown, not auth_failed\n      `bin/turnd replay --explain ",
  );
});

test.each([
  ["9.9.9", "2.0.0 to 9.9.9"],
  ["1.5.0", "1.5.0 to 9.0.0"],
])("what was measured is widened to %s, never narrowed", (version, range) => {
  const { text } = writeReport({ ...TRIAL, version }, [MATRIX], "beside", MEASURED);
  expect(text).toContain(`measuredVersions in src/turnd/daemon/executors/cli-b/adapter.ts: ${range}`);
});

test("a version between those that were measured changes neither them nor the default", () => {
  const { text } = writeReport({ ...TRIAL, version: "3.0.0" }, [MATRIX], "beside", MEASURED);
  expect(text).not.toContain("measuredVersions");
  expect(text).not.toContain("by default");
});

test("before all has run the page says what is not finished, and does not say that nothing breaks", () => {
  const { text, isBroken } = writeReport(TRIAL, [MATRIX], "beside", MEASURED, ["scenes", "tests"]);
  expect(text).toContain("not run: probe\n");
  expect(text).toContain("not finished: scenes, tests; the same command goes on\n");
  expect(text).toContain("- nothing breaks in what was run\n");
  expect(isBroken).toBe(false);
});

test("how long it takes is told before it begins, and as it goes", () => {
  expect(describeDuration(["probe", "matrix"])).toContain("probe about 1 min, matrix about 12 min");
  expect(describeProgress(3, 540, 0, 9_000)).toBe("3 of 540");
  expect(describeProgress(61, 541, 0, 60_000)).toBe("61 of 541, about 8 min left");
  expect(describeProgress(541, 541, 0, 540_000)).toBe("541 of 541, less than a minute left");
});

test("of the version that the image takes there is nothing to pin", () => {
  const { text } = writeReport(TRIAL, [MATRIX], "default", MEASURED);
  expect(text).toContain("- nothing to pin: the image and `npm start` take it by default\n");
  expect(text).not.toContain("upgrade-cli --");
});
