import { onTestFinished, expect, test } from "vitest";
import { startDaemon } from "../../../harness/daemon.ts";
import { fakeEnv } from "../../../harness/fake-env.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";

test("turns run where turnd is started by a user whose files are for nobody else", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const through = ["/bin/sh", "-c", 'umask 077; exec "$@"', "sh"];
  const turnd = await startDaemon({ directory, env: fakeEnv(directory), through });
  onTestFinished(async () => void (await turnd.stop()));
  expect(await turnd.run({ executor: "cli-b", input: "hello" })).toMatchObject({ status: "completed" });
});
