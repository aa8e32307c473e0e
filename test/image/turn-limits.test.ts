import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeImage, shareSandbox, startModel, type Sandbox } from "../harness/sandbox.ts";
import { waitFor } from "../harness/wait-for.ts";

const PROGRAMS = "/opt/attacks";
const FILES = { [`${PROGRAMS}/fork-bomb`]: "test/programs/exhaust/fork-bomb" };
const LIMITS = { processes: 2048, memoryBytes: 2_147_483_648 };
const SETTINGS = { TURND_TURN_MAX_PROCESSES: "200", TURND_TURN_MEMORY_MB: "900" };
/** With version 2 a container gets its groups by an option that testcontainers has not: sandbox/README.md. */
const GROUPS = { "/sys/fs/cgroup": "/sys/fs/cgroup" };
const OWN = "$(sed -n 's/^[0-9]*:pids://p' /proc/self/cgroup)";

async function findVersion(): Promise<string> {
  const { stdout } = await execa("docker", ["info", "--format", "{{.CgroupVersion}}"], { reject: false });
  return stdout;
}

const version = await findVersion();
if (version !== "1") process.stderr.write(`SKIPPED, groups of turns in a container: version ${version} here\n`);

describeImage("limits of each turn in a container", { timeout: 300_000 }, () => {
  let started: Awaited<ReturnType<typeof startModel>>;
  beforeAll(async () => {
    started = await startModel();
  });
  afterAll(() => started.model.close());

  function shareLimited(volumes: Readonly<Record<string, string>>): () => Sandbox {
    const shared = shareSandbox(() => ({
      env: { ...started.env, ...SETTINGS },
      files: FILES,
      limits: LIMITS,
      volumes,
    }));
    beforeAll(() => waitFor("readiness", async () => (await shared().request("GET", "/v1/ready")).status === 200));
    return shared;
  }
  const runCommand = (sandbox: Sandbox, command: string) =>
    sandbox.run({ executor: "cli-b", input: `@@command:${command}@@` });
  const limitsOf = async (sandbox: Sandbox): Promise<unknown> =>
    (await sandbox.request("GET", "/v1/sandbox")).body.data.turn_limits;
  const listGroups = async (sandbox: Sandbox): Promise<string> =>
    (await sandbox.exec(["sh", "-c", `cd /sys/fs/cgroup/pids${OWN} && find . -mindepth 2 -type d`])).output.trim();

  describe("as it is", () => {
    const shared = shareLimited({});

    test("an ordinary container has none, logs why, and its turns run", async () => {
      const sandbox = shared();
      expect(await limitsOf(sandbox)).toEqual({ enforced: false, reason: expect.stringMatching(/ is read-only$/) });
      expect((await sandbox.exec(["turnd", "doctor"])).output).toMatch(
        /^ok +turn-limits: turns have no limits of their own: \/sys\/fs\/cgroup\S* is read-only$/m,
      );
      expect(await runCommand(sandbox, "echo hello")).toMatchObject({ status: "completed" });
    });
  });

  describe.runIf(version === "1")("whose groups can be written", () => {
    const shared = shareLimited(GROUPS);

    test("a turn's fork bomb and its eater of memory meet the turn's limits, not the container's", async () => {
      const sandbox = shared();
      expect(await limitsOf(sandbox)).toEqual({ enforced: true, max_processes: 200, memory_mb: 900 });
      expect((await sandbox.exec(["turnd", "doctor"])).output).toMatch(/^ok +turn-limits: each turn has .* 900 MiB$/m);

      const bomb = await sandbox.admit({ executor: "cli-b", input: `@@command:${PROGRAMS}/fork-bomb 600 0.1@@` });
      await waitFor("the limit", async () => {
        const { output } = await sandbox.exec([
          "sh",
          "-c",
          `cat /sys/fs/cgroup/pids${OWN}/turnd-*/${bomb.turn_id}/pids.events`,
        ]);
        return /max [1-9]/.test(output);
      });
      expect(await runCommand(sandbox, "echo hello")).toMatchObject({ status: "completed" });
      const { body } = await sandbox.request("POST", `/v1/turns/${bomb.turn_id}/cancel`);
      expect(body.status).toBe("cancelled");

      const eater = await runCommand(sandbox, `perl -e '$x = "a" x 1_500_000_000'; echo status $?`);
      expect(eater).toMatchObject({ status: "completed", output: expect.stringContaining("status 137") });
      const warned = (await sandbox.events(eater.turn_id)).filter(({ type }) => type === "warning");
      expect(warned).toEqual([expect.objectContaining({ data: expect.objectContaining({ code: "limit_reached" }) })]);
      expect(await listGroups(sandbox)).toBe("");
    });

    test("a tool can change nothing of any group, the container's and the host's neither", async () => {
      const sandbox = shared();
      const probe =
        "find /sys/fs/cgroup -writable -not -type l | wc -l; unshare --user --map-root-user --mount --cgroup sh -c " +
        `'find /sys/fs/cgroup -name cgroup.procs | while read f; do (echo 0 > $f) 2>/dev/null && echo LEFT $f; done'`;
      const { output } = await runCommand(sandbox, probe);
      expect(output).toMatch(/\b0\b/);
      expect(output).not.toContain("LEFT");
    });

    test("turnd killed and started again by its supervisor leaves no group", async () => {
      const sandbox = shared();
      const { turn_id } = await sandbox.admit({ executor: "cli-b", input: "@@command:sleep 600@@" });
      await waitFor("the group", async () => (await listGroups(sandbox)).includes(turn_id));
      await sandbox.exec(["pkill", "-KILL", "-f", "[m]ain.mjs"]);
      await waitFor("turnd", async () => (await sandbox.request("GET", "/v1/ready")).status === 200);
      expect(await listGroups(sandbox)).toContain(turn_id);
      await sandbox.request("POST", `/v1/turns/${turn_id}/cancel`);
      await waitFor("the group to go", async () => (await listGroups(sandbox)) === "");
    });
  });
});
