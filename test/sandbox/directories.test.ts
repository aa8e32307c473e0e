import { chmodSync, linkSync, lstatSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, onTestFinished, test } from "vitest";
import { startAttack } from "../harness/attack.ts";
import { REPOSITORY, temporaryDirectory, userDirectory } from "../harness/temporary.ts";

/** Runs a piece of the entrypoint's shell, as it is when it has found out who it is. */
async function runShell(script: string, env: Readonly<Record<string, string>> = {}) {
  const given = { SELF: "0", USER_ID: "1000", STATE: "/var/lib/turnd", HOME_DIRECTORY: "/home/sandbox", ...env };
  const variables = {
    SANDBOX: "/opt/turnd/sandbox",
    RUN: "/run/sandbox",
    WORKSPACE: "/workspace",
    PATH: process.env["PATH"] ?? "",
    ...given,
  };
  const start = 'set -u; say() { echo "$*" >&2; }; fault() { say "$2" && exit "$1"; }; . "$0";';
  const args = ["--norc", "-c", `${start} ${script}`, join(REPOSITORY, "sandbox/directories")];
  return execa("/bin/bash", args, { env: variables, extendEnv: false, reject: false, stdin: "ignore" });
}

describe.runIf(process.getuid?.() === 0)("the entrypoint's directories", () => {
  test.each([
    ["/", "is or holds /"],
    ["/opt", "is or holds /opt/turnd"],
    ["/opt/turnd", "is or holds /opt/turnd"],
    ["/opt/../opt/./clis/", "is or holds /opt/clis"],
    ["/var", "is or holds /var/lib/turnd"],
    ["/var/lib/turnd/sessions", "is in /var/lib/turnd"],
    ["/root", "is or holds /root"],
    ["/root/sub/new", "is in /root"],
    ["/usr", "(is or holds|belongs to the image)"],
    ["/usr/local/sbin", "is in /usr/local/sbin"],
    // File systems of their own, as a volume is.
    ["/proc/1", "is in /proc"],
    ["/dev/shm", "is in /dev"],
    ["/etc/new-directory", "is in /etc"],
    ["/usr/local/lib/site_perl/new", "is in /usr"],
    ["/run", "is or holds /run/sandbox"],
    ["/dev", "is or holds /dev"],
    ["/tmp", "is or holds /tmp"],
    ["/home", "belongs to the image"],
    ["/srv", "belongs to the image"],
  ])("neither home nor workspace is %s", async (place, why) => {
    for (const [variable, key] of [
      ["TURND_HOME", "HOME_DIRECTORY"],
      ["TURND_WORKSPACE", "WORKSPACE"],
    ] as const) {
      const { exitCode, stderr } = await runShell("check_places", { [key]: place });
      expect(stderr).toMatch(new RegExp(`^${variable} is /.*, which ${why}`));
      expect(exitCode).toBe(16);
    }
  });

  test("a link to what is root's is taken for what it leads to", async () => {
    const link = join(temporaryDirectory(onTestFinished), "link");
    symlinkSync("/opt", link);
    expect((await runShell("check_places", { WORKSPACE: link })).stderr).toContain("TURND_WORKSPACE is /opt, which");
  });

  test("a state below the workspace is refused", async () => {
    const { exitCode, stderr } = await runShell("check_places", { WORKSPACE: "/data", STATE: "/data/state" });
    expect([exitCode, stderr]).toEqual([16, expect.stringContaining("which is or holds /data/state")]);
  });

  test("the image's own, what is that user's, and what is not there yet are taken", async () => {
    const own = userDirectory(join(temporaryDirectory(onTestFinished), "own"));
    for (const place of ["/workspace", "/home/sandbox", own, "/data/new", "/opt/new"]) {
      const { exitCode, stderr } = await runShell("check_places", { WORKSPACE: place });
      expect([place, exitCode, stderr]).toEqual([place, 0, ""]);
    }
  });

  test("all of a directory is given away but what has a second name, and no link is followed", async () => {
    const base = temporaryDirectory(onTestFinished);
    const [given, kept] = [join(base, "given"), join(base, "kept")];
    mkdirSync(join(given, "a/b"), { recursive: true });
    writeFileSync(join(given, "a/b/f"), "");
    writeFileSync(kept, "");
    linkSync(kept, join(given, "a/hard"));
    symlinkSync(kept, join(given, "a/soft"));
    chmodSync(given, 0);
    const { exitCode } = await runShell(`adopt ${given} 1000:1000`, { TURND_ADOPT_VOLUMES: "yes" });
    expect(exitCode).toBe(0);
    for (const path of ["", "a", "a/b", "a/b/f", "a/soft"]) expect(lstatSync(join(given, path)).uid).toBe(1000);
    expect(statSync(kept).uid).toBe(0);
    expect((statSync(given).mode & 0o700).toString(8)).toBe("700");
  });

  test("of a state only the homes are left to their user, and a link anywhere else is found", async () => {
    const state = temporaryDirectory(onTestFinished);
    mkdirSync(join(state, "sessions/s-1/home/sub"), { recursive: true });
    mkdirSync(join(state, "sessions/s-1/turns/home"), { recursive: true });
    symlinkSync("/etc", join(state, "sessions/s-1/home/link"));
    const homes = await runShell(`cd ${state} && find . -mindepth 3 -regex "$HOMES" | sort`);
    expect(homes.stdout.split("\n")).toEqual([
      "./sessions/s-1/home",
      "./sessions/s-1/home/link",
      "./sessions/s-1/home/sub",
    ]);
    expect((await runShell(`find_link_in_state ${state}`)).stdout).toBe("");
    symlinkSync("/etc", join(state, "sessions/s-1/turns/home/link"));
    expect((await runShell(`find_link_in_state ${state}`)).stdout).toBe("./sessions/s-1/turns/home/link");
  });

  test("who swaps directories for links meanwhile is given nothing of root's", { timeout: 120_000 }, async () => {
    const base = temporaryDirectory(onTestFinished);
    const target = join(base, "target");
    mkdirSync(target);
    const names = Array.from({ length: 200 }, (_, index) => `f${index}`);
    for (const name of names) writeFileSync(join(target, name), "root's");
    for (let round = 0; round < 3; round += 1) {
      const given = userDirectory(join(base, `given${round}`));
      for (let index = 0; index < 200; index += 1) {
        mkdirSync(join(given, `d${index}`));
        for (const name of names.slice(0, 20)) writeFileSync(join(given, `d${index}`, name), "");
      }
      const attack = await startAttack("swap-while-given", given, target);
      await runShell(`adopt ${given} 1000:1000`, { TURND_ADOPT_VOLUMES: "yes" });
      attack.end();
      expect(readdirSync(target).filter((name) => lstatSync(join(target, name)).uid !== 0)).toEqual([]);
      expect(lstatSync(target).uid).toBe(0);
    }
  });
});
