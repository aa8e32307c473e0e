import { chmodSync, chownSync, copyFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readStarted } from "../../../../../src/turnd/daemon/process/keeper/keeper.ts";
import { startBehind } from "../../../../harness/behind.ts";
import { processesNaming } from "../../../../harness/processes.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

/** Only root can change what a daemon has around it. */
const IS_ROOT = process.getuid?.() === 0;

test.runIf(IS_ROOT)("turns run where the system has no notices of changes to give", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const none = "echo 0 > /proc/sys/user/max_inotify_watches";
  const turnd = await startBehind(directory, "--map-root-user", none, { TURND_RUN_AS: "self" });
  // The namespace knows of no user but root.
  chownSync(turnd.workspace, 0, 0);
  const { status, output } = await turnd.run({ executor: "cli-b", input: "a message\nsleep 0.5\nthe end" });
  expect([status, output]).toEqual(["completed", "the end"]);
});

test.runIf(IS_ROOT)(
  "a turn that cannot be watched any more ends with all its processes, and turnd goes on",
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const [flock, broken] = [join(directory, "flock"), join(directory, "broken")];
    copyFileSync("/usr/bin/flock", `${flock}.real`);
    writeFileSync(flock, `#!/bin/sh\n[ -e ${broken} ] || exec ${flock}.real "$@"\necho broken >&2\nexit 1\n`);
    chmodSync(flock, 0o755);
    const turnd = await startBehind(directory, "--mount", `mount --bind ${flock} /usr/bin/flock`);
    const mark = String(3_000_000 + (process.pid % 1_000_000));
    onTestFinished(() => processesNaming(mark).forEach((pid) => process.kill(pid, "SIGKILL")));
    const input = `hello\nshell sleep ${mark} & :\nhang`;
    const { turn_id, session_id } = await turnd.admit({ executor: "cli-b", input });
    await waitFor("what the turn leaves", () => processesNaming(mark).length > 0);
    const files = join(turnd.state, "sessions", session_id, "turns", turn_id);
    const started = await waitFor("the keeper", () => readStarted(files));
    writeFileSync(broken, "");
    // With the keeper goes the exit; whether it lives is then asked of what is broken.
    process.kill(started.keeperPid, "SIGKILL");
    await waitFor("the keeper's end", () => !existsSync(`/proc/${started.keeperPid}`));
    process.kill(started.pid, "SIGKILL");
    await waitFor("the end", async () => (await turnd.events(turn_id)).at(-1)?.type === "turn.ended");
    expect(processesNaming(mark)).toEqual([]);
    const { failure } = (await turnd.request("GET", `/v1/turns/${turn_id}/result`)).body;
    expect(failure).toMatchObject({ code: "unknown", message: expect.stringContaining("flock") });
  },
);
