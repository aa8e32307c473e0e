import { execFileSync } from "node:child_process";
import { expect, onTestFinished, test } from "vitest";
import { EARLIER, HELD, LET_GO } from "../../../src/turnd/loading/optimiser.ts";
import { startDaemon, type TestDaemon } from "../../harness/daemon.ts";
import { fakeEnv } from "../../harness/fake-env.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";

/** Many calls of the same function, more than V8 leaves unoptimised. */
const PROBES = 300;

const startTraced = (directory: string): Promise<TestDaemon> =>
  startDaemon({
    directory,
    env: fakeEnv(directory),
    through: ["sh", "-c", 'exec "$0" --trace-opt "$@"'],
  });

const optimised = ({ log }: TestDaemon): string[] => log.filter((line) => line.includes("completed optimizing"));

test("a turnd that has only been probed has optimised nothing, and one that works does", async () => {
  const turnd = await startTraced(temporaryDirectory(onTestFinished));
  for (let probe = 0; probe < PROBES; probe += 1) {
    expect((await turnd.request("GET", "/v1/health")).status).toBe(200);
  }
  expect((await turnd.request("GET", "/v1/ready")).status).toBe(200);
  expect(optimised(turnd)).toEqual([]);
  expect((await turnd.run({ executor: "cli-b", input: "burst 5000" })).status).toBe("completed");
  expect(optimised(turnd)).not.toEqual([]);
  expect(await turnd.stop()).toBe(0);
});

test("a turnd that resumes a turn optimises without a request", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await startTraced(directory);
  await first.admit({ executor: "cli-b", input: "burst 5000" });
  first.kill("SIGKILL");
  await first.exited;
  const second = await startTraced(directory);
  await expect.poll(() => optimised(second), { timeout: 60_000 }).not.toEqual([]);
  expect(await second.stop()).toBe(0);
});

test("V8 knows every flag that is set", () => {
  const known = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
  const names = [...HELD, ...LET_GO, EARLIER].map((flag) => flag.replace("--no-", "--").replace(/=.*/, ""));
  expect(names.filter((name) => !known.includes(`  ${name} (`))).toEqual([]);
});
