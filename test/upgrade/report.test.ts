import { expect, test } from "vitest";
import { findUpgradable } from "../../scripts/upgrade/candidate.ts";
import { writeReport } from "../../scripts/upgrade/report.ts";
import type { StepResult, Trial } from "../../scripts/upgrade/steps.ts";

const cli = findUpgradable("codex");
if (cli === undefined) throw new Error("codex can be upgraded");
const TRIAL: Trial = { cli, version: "9.9.9", binary: "/bin/codex", tools: "/bin", directory: "/kept" };

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
  const { text, isBroken } = writeReport(TRIAL, [PROBE, MATRIX], true);
  expect(isBroken).toBe(true);
  expect(text).toContain("probe: exit code 1 (/kept/probe.txt)\n      missing event: plan.updated  [todo]\n");
  expect(text).toContain("matrix: nothing breaks (/kept/matrix.txt)\n");
  expect(text).not.toContain("new event: warning");
  expect(text).toContain("what breaks above");
  expect(text).toContain("fixtures/cli-b/9.9.9/");
});

test("a step that cannot be run breaks, whatever it printed; where nothing is pinned that is left to decide", () => {
  const { text, isBroken } = writeReport(TRIAL, [{ ...MATRIX, exitCode: 2, output: "" }], false);
  expect(isBroken).toBe(true);
  expect(text).toContain("matrix: exit code 2");
  expect(text).toContain("npm run upgrade-cli -- cli-b 9.9.9");
  expect(writeReport(TRIAL, [MATRIX], true).isBroken).toBe(false);
});
