import { describe, expect, test } from "vitest";
import { compareVersions } from "../../../../src/turnd/daemon/doctor/clis.ts";
import { judgeClock, judgeDisk } from "../../../../src/turnd/daemon/doctor/disk.ts";
import { judgeProc } from "../../../../src/turnd/daemon/doctor/processes.ts";
import { judgeLocale, judgeNode } from "../../../../src/turnd/daemon/doctor/environment.ts";
import { describeLogin, parseAccounts } from "../../../../src/turnd/daemon/process/accounts.ts";
import { judgeCapabilities, readCapabilities } from "../../../../src/turnd/daemon/doctor/user.ts";

describe("capabilities", () => {
  // What an engine gives a container by default, and what the image asks for at least.
  test.each(["00000000a80425fb", "00000000000001e5", "000001ffffffffff"])("%s is enough", (mask) => {
    expect(judgeCapabilities(readCapabilities(`Name:\tnode\nCapEff:\t${mask}\n`))).toBeUndefined();
  });

  test.each([
    ["00000000000001c5", "fault", "KILL"],
    ["0000000000000000", "fault", "SETUID, SETGID, CHOWN, KILL, DAC_READ_SEARCH"],
    ["00000000000000e5", "warn", "SETPCAP"],
  ])("%s is a %s that names %s", (mask, level, names) => {
    const verdict = judgeCapabilities(readCapabilities(`CapEff:\t${mask}\n`));
    expect(verdict).toMatchObject({ level, message: expect.stringContaining(names) });
  });
});

describe("an account with a login", () => {
  const passwd = `root:x:0:0::/root:/bin/sh
alice:x:1000:1000:Alice,,,:/home/alice:/bin/bash
clis:x:995:994::/nonexistent:/usr/sbin/nologin
broken:x
shell:x:1002:1002::/home/1001:
`;
  const loginOf = (uid: number, home = "/srv/home", isSelf = false): string | undefined =>
    describeLogin(parseAccounts(passwd), { uid, gid: uid, isSelf }, home);

  test("is one whose shell lets it in, an empty field too", () => {
    expect(loginOf(1000)).toContain("uid 1000, which is alice, an account with a login (home /home/alice)");
    expect(loginOf(1002)).toContain("which is shell,");
    expect([loginOf(995), loginOf(1001)]).toEqual([undefined, undefined]);
  });

  test("is none where it was made for the CLIs, whose home it has, or where there is but one user", () => {
    expect([loginOf(1000, "/home/alice"), loginOf(1000, "/srv/home", true)]).toEqual([undefined, undefined]);
  });
});

test("versions are compared by their numbers", () => {
  expect(compareVersions("1.14.34", "1.3.2")).toBe(1);
  expect(compareVersions("1.3.2", "1.14.34")).toBe(-1);
  expect(compareVersions("0.139.0-beta.1", "0.139.0")).toBe(0);
});

test.each([
  [40, Infinity, "fault"],
  [100, 50_000, "warn"],
  [10_000, 100, "fault"],
  [10_000, 5_000, "warn"],
  [10_000, Infinity, "ok"],
])("%d MiB and %d inodes free: %s", (mebibytes, inodes, level) => {
  expect(judgeDisk("/state", { bytes: mebibytes * 1_048_576, inodes }).level).toBe(level);
});

test.each([
  ["2026-06-01", undefined, "ok"],
  ["2026-06-01", "2026-05-31", "ok"],
  ["1970-01-01", undefined, "fault"],
  ["2026-06-01", "2026-06-02", "warn"],
])("it is %s, and the state's newest change %s: %s", (now, newest, level) => {
  const made = new Date("2026-05-01");
  const at = newest === undefined ? undefined : new Date(newest);
  expect(judgeClock({ now: new Date(now), made, newest: at }).level).toBe(level);
});

describe("/proc", () => {
  const mount = (options: string): string =>
    `1 2 0:1 / / rw - ext4 /dev/vda rw\n22 28 0:21 / /proc rw,nosuid,nodev,noexec,relatime - proc proc ${options}\n`;

  test.each([
    [mount("rw"), true, "ok"],
    [mount("rw,hidepid=0"), true, "ok"],
    [mount("rw,hidepid=off"), true, "ok"],
    [mount("rw,hidepid=2"), true, "warn"],
    [mount("rw,hidepid=invisible"), false, "fault"],
    ["1 2 0:1 / / rw - ext4 /dev/vda rw\n", true, "fault"],
    [undefined, true, "fault"],
  ])("%j for root %s: %s", (mounts, isRoot, level) => {
    expect(judgeProc(mounts, isRoot).level).toBe(level);
  });
});

test.each([
  ["22.23.0", "ok"],
  ["24.0.1", "ok"],
  ["22.17.9", "fault"],
  ["20.20.2", "fault"],
])("Node %s: %s", (version, level) => {
  expect(judgeNode(version).level).toBe(level);
});

test.each([
  [{ LANG: "C.UTF-8" }, "ok"],
  [{ LANG: "de_DE.utf8" }, "ok"],
  [{ LANG: "C.UTF-8", LC_ALL: "C" }, "warn"],
  [{ LANG: "C" }, "warn"],
  [{}, "warn"],
])("the locale of %j: %s", (env: Record<string, string>, level) => {
  expect(judgeLocale(env).level).toBe(level);
});
