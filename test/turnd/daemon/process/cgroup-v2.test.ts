import { existsSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { REPOSITORY, temporaryDirectory } from "../../../harness/temporary.ts";

/** A controller that version 2 has on this machine, whichever: limits are looked at elsewhere, groups here. */
const [ROOT, CONTROLLER] = findVersion2();
if (CONTROLLER === undefined)
  process.stderr.write("SKIPPED, groups of version 2: none with a controller can be made here\n");

function findVersion2(): [string, string | undefined] {
  const [root] = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .flatMap((line) => (/ cgroup2 rw/.test(line) ? [line.split(" ")[1] ?? ""] : []));
  if (root === undefined || process.getuid?.() !== 0) return ["", undefined];
  // At the root alone: what is below may belong to another test.
  const own = /^0::(.*)$/m.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1];
  const enabled = readFileSync(join(root, "cgroup.controllers"), "utf8").trim().split(" ");
  return [root, own === "/" ? enabled.findLast(Boolean) : undefined];
}

/** Runs the program in a new group with that controller, and a shell beside it where one is asked for. */
async function runIn(script: string) {
  const control = join(ROOT, "cgroup.subtree_control");
  if (!readFileSync(control, "utf8").includes(CONTROLLER ?? "")) {
    writeFileSync(control, `+${CONTROLLER}`);
    // As it was before, once the group is gone.
    onTestFinished(() => writeFileSync(control, `-${CONTROLLER}`));
  }
  const group = mkdtempSync(join(ROOT, "turnd-test-"));
  onTestFinished(() => {
    for (const name of readdirSync(group, { withFileTypes: true }))
      if (name.isDirectory()) rmdirSync(join(group, name.name));
    rmdirSync(group);
  });
  const program = [
    process.execPath,
    join(REPOSITORY, "test/programs/open-groups.ts"),
    temporaryDirectory(onTestFinished),
  ];
  const { stdout } = await execa("/bin/sh", ["-c", script, "sh", ...program, CONTROLLER ?? ""], {
    env: { GROUP: group },
  });
  return { group, report: JSON.parse(stdout) };
}

test.runIf(CONTROLLER !== undefined)(
  "turnd moves into a leaf, and a command runs in a group beside it until all of it is killed at once",
  async () => {
    const { group, report } = await runIn(`echo $$ > "$GROUP/cgroup.procs" && exec "$@"`);
    expect(report.own).toContain(`${group.slice(ROOT.length)}/turnd.leaf\n`);
    expect(report.directories).toEqual([expect.stringMatching(new RegExp(`^${group}/turnd-[0-9a-f]{16}/one$`))]);
    expect([report.membersBefore, report.membersAfter, report.isRemoved]).toEqual([[report.pid], [], true]);
    expect(existsSync(report.directories[0])).toBe(false);
  },
);

test.runIf(CONTROLLER !== undefined)("a group that other programs run in is left as it is", async () => {
  const { group, report } = await runIn(
    `echo $$ > "$GROUP/cgroup.procs"; sleep 1000 >/dev/null & "$@"; kill $!; wait $!; echo $$ > ${ROOT}/cgroup.procs`,
  );
  expect(report).toEqual({ reason: `other programs run in ${group}, the group that turnd was started in` });
});
