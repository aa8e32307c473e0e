// Opens control groups for whatever group it was started in, runs a command in one, ends it, and prints what it found as JSON.
//   node open-groups.ts <directory> <controller>
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openCommandGroups } from "../../src/turnd/daemon/process/cgroup/cgroup-open.ts";
import { startKept } from "../../src/turnd/daemon/process/keeper/keeper.ts";
import { sweepTree } from "../../src/turnd/daemon/process/keeper/tree.ts";
import { REPOSITORY } from "../harness/temporary.ts";

const [stateDirectory = "", controller = ""] = process.argv.slice(2);
const limits = { maxProcesses: 0, memoryBytes: 0 };
const { groups, reason } = openCommandGroups({ stateDirectory, limits, controllers: [controller] });
if (groups === undefined) {
  process.stdout.write(`${JSON.stringify({ reason })}\n`);
} else {
  const directory = mkdtempSync(join(stateDirectory, "kept-"));
  writeFileSync(join(directory, "prompt.txt"), "");
  const group = groups.make("one");
  const started = await startKept({
    keeperPath: join(REPOSITORY, "sandbox/keeper"),
    directory,
    command: ["/bin/sleep", "1000"],
    env: {},
    cwd: "/",
    runAs: { uid: 1000, gid: 1000, isSelf: false },
    group,
  });
  const membersBefore = group.members();
  const own = readFileSync("/proc/self/cgroup", "utf8");
  group.close();
  await sweepTree({ started, marker: "none", group });
  const membersAfter = group.members();
  const isRemoved = await groups.remove("one");
  groups.removeEmpty();
  const pid = started.pid;
  process.stdout.write(
    `${JSON.stringify({ own, pid, directories: group.directories, membersBefore, membersAfter, isRemoved })}\n`,
  );
}
