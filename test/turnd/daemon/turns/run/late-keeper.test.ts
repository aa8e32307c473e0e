import { chmodSync, copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { KeeperError, startKept } from "../../../../../src/turnd/daemon/process/keeper/keeper.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { processesNaming } from "../../../../harness/processes.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

/** What a keeper leaves, and what comes after its start: without it a turn is as one whose turnd was killed before. */
const AFTER_START = ["started", "exit.json", "result.json", "stdout.jsonl", "stderr.log"];

test("a keeper that a killed turnd has asked for starts nothing once the turn has been cancelled", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const body = { executor: "cli-b", session_id: "session-1", input: "hello" };
  const { turn_id } = await first.run(body);
  const files = join(first.state, "sessions/session-1/turns", turn_id);
  first.kill("SIGKILL");
  await first.exited;
  for (const name of AFTER_START) rmSync(join(files, name));
  writeFileSync(join(files, "events.jsonl"), "");
  expect(JSON.parse(readFileSync(join(files, "turn.json"), "utf8")).started_at).toBeDefined();

  // The next turnd waits for the CLI's version, so that the turn can be cancelled before its start.
  const [program, mark] = [join(directory, "bin/fake-cli-b"), `hanging-${process.pid}-${directory.slice(-6)}`];
  rmSync(program);
  writeFileSync(program, `#!/bin/sh\nsh -c 'sleep 3600; : ${mark}'\n`);
  chmodSync(program, 0o755);
  onTestFinished(() => processesNaming(mark).forEach((pid) => process.kill(pid, "SIGKILL")));
  const second = await fakeDaemonIn(directory);
  await waitFor("the wait", () => processesNaming(mark).length > 0);
  expect((await second.request("POST", `/v1/turns/${turn_id}/cancel`)).body.status).toBe("cancelled");

  const ran = join(second.workspace, "ran");
  const late = startKept({
    keeperPath: join(REPOSITORY, "sandbox/keeper"),
    directory: files,
    command: ["/usr/bin/touch", ran],
    env: { PATH: "/usr/bin:/bin" },
    cwd: second.workspace,
    runAs: CLI_USER,
  });
  await expect(late).rejects.toThrow(KeeperError);
  expect(existsSync(ran)).toBe(false);
  await second.stop();
  // And the start after that finds a turn that has ended.
  rmSync(program);
  copyFileSync(join(REPOSITORY, "test/programs/fake-cli-b"), program);
  chmodSync(program, 0o755);
  const third = await fakeDaemonIn(directory);
  expect((await third.request("GET", `/v1/turns/${turn_id}`)).body.status).toBe("cancelled");
  expect((await third.run({ ...body, input: "again" })).status).toBe("completed");
});
