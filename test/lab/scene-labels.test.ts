import { join } from "node:path";
import { expect, test } from "vitest";
import { scenesOf } from "../../lab/matrix/scene.ts";
import { PROVIDER_SCENES, SCENES } from "../../lab/matrix/scenes.ts";
import { listRecordings } from "../turnd/daemon/executors/recordings.ts";
import { REPOSITORY } from "../harness/temporary.ts";

/** The first version that scenes were played to, and how many of its fixtures a scene plays. */
const SINCE = [
  ["cli-a", "1.18.33", 96],
  ["cli-b", "0.169.0", 96],
] as const;

test.each(SINCE)("a scene of %s has the label that its fixture has", (executor, since, least) => {
  const labels = new Map(scenesOf(executor, SCENES).map(({ name, status, code }) => [name, [status, code ?? null]]));
  const fixtures = listRecordings(join(REPOSITORY, "fixtures"), executor).flatMap(
    ({ name, directory, turn, expected }) => {
      const label = labels.get(directory.split("/").at(-1) ?? "");
      const isOfScene = label !== undefined && turn.cli_version.localeCompare(since, "en", { numeric: true }) >= 0;
      return isOfScene ? [{ name, label, expected: [expected.status, expected.code] }] : [];
    },
  );
  expect(fixtures.length).toBeGreaterThan(least);
  expect(fixtures.filter(({ label, expected }) => String(label) !== String(expected))).toEqual([]);
});

test.each(["cli-a", "cli-b"] as const)("every scene of %s has a name of its own, and something to play", (executor) => {
  // Each list is played into a directory of its own.
  for (const scenes of [scenesOf(executor, SCENES), scenesOf(executor, PROVIDER_SCENES)]) {
    const names = scenes.map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    expect(scenes.filter(({ replies }) => replies.length === 0)).toEqual([]);
  }
});
