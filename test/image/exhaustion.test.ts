import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeImage, shareSandbox, startModel, type Sandbox, type SandboxOptions } from "../harness/sandbox.ts";
import { waitFor } from "../harness/wait-for.ts";

const PROGRAMS = "/opt/attacks";
const ATTACKS = Object.fromEntries(
  ["fork-bomb", "eat-memory", "eat-shared-memory"].map((name) => [
    `${PROGRAMS}/${name}`,
    `test/programs/exhaust/${name}`,
  ]),
);
/** Longer than any test: what ends an attack is what is tested. */
const SECONDS = 600;
const LIMIT_MS = 300_000;
/** Enough for a CLI and little else. */
const LIMITS = { processes: 128, memoryBytes: 512 * 1_048_576 };

/** How many processes the container's limit of memory has cost. @see cgroup(7): version 2, then version 1 */
const OOM_KILLS = "cat /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control 2>/dev/null";

/** Kills a process once forks keep failing. */
const KILL_WHEN_FULL = `
for (my $failed = 0; $failed < 20; select undef, undef, undef, 0.02) {
  my $pid = fork;
  if (!defined $pid) { $failed++ } elsif ($pid) { $failed = 0; waitpid $pid, 0 } else { exit }
}
kill KILL => $ARGV[0];`;

describeImage("where tools take everything there is", { timeout: LIMIT_MS }, () => {
  let started: Awaited<ReturnType<typeof startModel>>;
  beforeAll(async () => {
    started = await startModel();
  });
  afterAll(() => started.model.close());

  /** One for tests of which each leaves it whole, but for the last. */
  function shareLimited(options: SandboxOptions = {}): () => Sandbox {
    const shared = shareSandbox(() => ({ ...options, env: started.env, files: ATTACKS, limits: LIMITS }));
    // The attacks are to meet a sandbox that has seen both CLIs' versions.
    beforeAll(() => waitFor("readiness", async () => (await shared().request("GET", "/v1/ready")).status === 200));
    return shared;
  }
  /** Starts an attack as a tool of a turn. */
  const attack = (sandbox: Sandbox, command: string) =>
    sandbox.admit({ executor: "cli-b", input: `@@command:${PROGRAMS}/${command}@@` });
  const isHealthy = async (sandbox: Sandbox): Promise<boolean> =>
    (await sandbox.request("GET", "/v1/health").catch(() => undefined))?.status === 200;
  /** The system itself says when processes or memory have run out. */
  const waitForRefusedFork = (sandbox: Sandbox) =>
    waitFor("a fork that fails", async () => {
      const answer = await sandbox.request("POST", "/v1/turns", { executor: "cli-b", input: "hello" });
      if (answer.status === 202) await sandbox.request("POST", `/v1/turns/${answer.body.turn_id}/cancel`);
      return answer.status !== 202 && answer;
    });
  async function expectWhole(sandbox: Sandbox): Promise<void> {
    await waitFor("the end of the attack", async () => {
      const left = await sandbox.exec(["pgrep", "-f", PROGRAMS]).catch(() => undefined);
      return left?.exitCode === 1;
    });
    await waitFor("readiness", async () => (await sandbox.request("GET", "/v1/ready")).status === 200);
    expect(await sandbox.run({ executor: "cli-b", input: "@@command:echo on@@" })).toMatchObject({
      status: "completed",
      output: expect.stringContaining("on"),
    });
  }

  describe("processes", () => {
    const shared = shareLimited();

    test("a fork bomb keeps no client from an answer or from cancelling it, and the sandbox goes on", async () => {
      const sandbox = shared();
      const { turn_id } = await attack(sandbox, `fork-bomb ${SECONDS}`);
      const refused = await waitForRefusedFork(sandbox);
      expect([refused.status, refused.body.detail.code]).toEqual([503, "resources_exhausted"]);
      for (let looks = 0; looks < 5; looks += 1) expect(await isHealthy(sandbox)).toBe(true);
      const cancelled = await sandbox.request("POST", `/v1/turns/${turn_id}/cancel`);
      expect([cancelled.status, cancelled.body.status]).toEqual([200, "cancelled"]);
      await expectWhole(sandbox);
      expect(await sandbox.log()).not.toMatch(/ended (by itself|for want)/);
    });

    test("a fork bomb in a shell ends with the shell", async () => {
      const sandbox = shared();
      const shells = "/v1/shell/sessions";
      const { session_id } = (await sandbox.request("POST", shells, { cols: 80, rows: 24 })).body;
      const text = `${PROGRAMS}/fork-bomb ${SECONDS} &\r`;
      await sandbox.request("POST", `${shells}/${session_id}/input`, { text });
      await waitForRefusedFork(sandbox);
      expect((await sandbox.request("DELETE", `${shells}/${session_id}`)).status).toBeLessThan(300);
      await expectWhole(sandbox);
    });

    test("turnd comes back even where a fork bomb has every process there is", async () => {
      const sandbox = shared();
      // Started before, for nothing can be started then.
      await sandbox.exec(["sh", "-c", `perl -e '${KILL_WHEN_FULL}' "$(pgrep -f [m]ain.mjs)" >/dev/null 2>&1 &`]);
      const { turn_id } = await attack(sandbox, `fork-bomb ${SECONDS}`);
      await waitFor("turnd's end", async () => !(await isHealthy(sandbox)));
      await waitFor("turnd", async () => await isHealthy(sandbox), LIMIT_MS);
      const ended = await waitFor("the turn's end", async () => {
        const { status, body } = await sandbox.request("GET", `/v1/turns/${turn_id}`);
        return status === 200 && body.status !== "running" && body;
      });
      expect(ended.status).toBe("failed");
      await expectWhole(sandbox);
      expect(await sandbox.log()).toContain("ending everything that uid 1000 runs");
    });

    test("docker stop ends a sandbox in a fork bomb in time, with exit code 0", async () => {
      const sandbox = shared();
      await attack(sandbox, `fork-bomb ${SECONDS}`);
      await waitForRefusedFork(sandbox);
      expect(await sandbox.stop({ graceSeconds: 10 })).toBe(0);
    });
  });

  describe("memory", () => {
    const shared = shareLimited({ sysctls: { "kernel.shm_rmid_forced": "1" } });
    const oomKills = async (sandbox: Sandbox): Promise<number> =>
      Number(/^oom_kill (\d+)/m.exec((await sandbox.exec(["sh", "-c", OOM_KILLS])).output)?.[1]);

    test("a turn's processes are killed, turnd and the front are not, and the turn can be cancelled", async () => {
      const sandbox = shared();
      const before = await oomKills(sandbox);
      const { turn_id } = await attack(sandbox, `eat-memory 60 20 ${SECONDS}`);
      await waitFor("kills", async () => (await oomKills(sandbox)) > before + 3);
      for (let looks = 0; looks < 5; looks += 1) expect(await isHealthy(sandbox)).toBe(true);
      expect((await sandbox.request("POST", `/v1/turns/${turn_id}/cancel`)).status).toBe(200);
      await expectWhole(sandbox);
      expect(await sandbox.log()).not.toMatch(/ended (by itself|for want)/);
    });

    test("shared memory goes with its last process, where the engine was asked for that", async () => {
      const sandbox = shared();
      // In all more than there is.
      const count = 40;
      const result = await sandbox.run({
        executor: "cli-b",
        input: `@@command:${PROGRAMS}/eat-shared-memory ${count} 16; echo took them@@`,
      });
      expect(result).toMatchObject({ status: "completed", output: expect.stringContaining("took them") });
      expect((await sandbox.exec(["cat", "/proc/sysvipc/shm"])).output.trim().split("\n")).toHaveLength(1);
      expect(await sandbox.log()).not.toMatch(/ended (by itself|for want)/);
    });

    test("where tools take back what makes them first, the sandbox goes on all the same", async () => {
      const sandbox = shared();
      const before = await oomKills(sandbox);
      // Without CAP_SYS_RESOURCE the kernel lets everybody back to what the container began with.
      const { turn_id } = await attack(sandbox, `eat-memory 60 20 ${SECONDS} 0`);
      const isAtItsLimit = async () => (await oomKills(sandbox)) > before + 3;
      await waitFor("kills", () => isAtItsLimit().catch(() => false), LIMIT_MS);
      await waitFor("the turn's end", async () => {
        const answer = await sandbox.request("POST", `/v1/turns/${turn_id}/cancel`).catch(() => undefined);
        return answer?.status === 200;
      });
      await expectWhole(sandbox);
    });
  });
});
