import { join } from "node:path";
import { expect, test } from "vitest";
import { FAILURE_CASES, START_CASES } from "../../lab/matrix/cli-b/failure-cases.ts";
import { ODD_ANSWERS } from "../../lab/matrix/cli-b/odd-answers.ts";
import { SESSION_CASES } from "../../lab/matrix/cli-b/session-cases.ts";
import { TOOL_CASES } from "../../lab/matrix/cli-b/tool-cases.ts";
import { ANSWERED } from "../../lab/matrix/scenes/answered.ts";
import { CLI_FAILS } from "../../lab/matrix/scenes/cli-fails.ts";
import { PROVIDER_FAILS } from "../../lab/matrix/scenes/provider-fails.ts";
import { listRecordings } from "../turnd/daemon/executors/recordings.ts";
import { REPOSITORY } from "../harness/temporary.ts";

/** The scenes that fixtures were made of, and the first version that they were played to. */
const SCENES = [
  { executor: "cli-a", since: "1.18.33", scenes: [...ANSWERED, ...CLI_FAILS, ...PROVIDER_FAILS] },
  {
    executor: "cli-b",
    since: "0.169.0",
    scenes: [...TOOL_CASES, ...SESSION_CASES, ...FAILURE_CASES, ...START_CASES, ...ODD_ANSWERS],
  },
] as const;

test.each(SCENES)("a scene of $executor has the label that its fixture has", ({ executor, since, scenes }) => {
  const labels = new Map(scenes.map(({ name, label }) => [name, [label.status, label.code ?? null]]));
  const fixtures = listRecordings(join(REPOSITORY, "fixtures"), executor).flatMap(
    ({ name, directory, turn, expected }) => {
      const label = labels.get(directory.split("/").at(-1) ?? "");
      const isOfScene = label !== undefined && turn.cli_version.localeCompare(since, "en", { numeric: true }) >= 0;
      return isOfScene ? [{ name, label, expected: [expected.status, expected.code] }] : [];
    },
  );
  expect(fixtures.length).toBeGreaterThan(90);
  expect(fixtures.filter(({ label, expected }) => String(label) !== String(expected))).toEqual([]);
});
