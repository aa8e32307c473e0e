import { appendFileSync, chownSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { chooseCliUser, OWN_USER, type CliUserTraces } from "../../scripts/cli-user.ts";
import { hasLogin } from "../../src/turnd/daemon/process/accounts.ts";
import { HAS_OWN_ACCOUNTS, ownAccounts, type OwnAccounts } from "../harness/own-accounts.ts";
import { REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";

const Choice = z.strictObject({ runAs: z.string(), note: z.string().optional() });
const PROGRAM = `const { chooseCliUser } = await import(process.argv[1]);
console.log(JSON.stringify(await chooseCliUser(JSON.parse(process.argv[2]), process.argv[3] === "make")));`;

async function choose({ through }: OwnAccounts, traces: CliUserTraces, how: "make" | "find" = "make") {
  const program = [PROGRAM, join(REPOSITORY, "scripts/cli-user.ts"), JSON.stringify(traces), how];
  const [command, ...args] = [...through, process.execPath, "-e", ...program] as const;
  const { stdout } = await execa(command ?? "", args, { forceKillAfterDelay: false, stdin: "ignore" });
  return Choice.parse(JSON.parse(stdout));
}

const NEW: CliUserTraces = { state: "/nowhere/state", directories: ["/nowhere/home"] };

describe.skipIf(!HAS_OWN_ACCOUNTS)("as root, with accounts of this test's own", () => {
  test("a new state gets a user of its own, who logs in nowhere and has no home; the next one finds it", async () => {
    const machine = ownAccounts(onTestFinished);
    const made = await choose(machine, NEW);
    const account = machine.accounts().find(({ name }) => name === OWN_USER);
    if (account === undefined) throw new Error("no user was made");
    expect(account).toMatchObject({ home: "/nonexistent", shell: expect.stringMatching(/nologin|false/) });
    expect(hasLogin(account)).toBe(false);
    expect(account.uid).toBeGreaterThan(0);
    expect(account.uid).toBeLessThan(1_000);
    expect(made.runAs).toBe(`${account.uid}:${account.gid}`);
    expect(made.note).toContain(`the CLIs run as turnd-cli, uid ${account.uid}`);
    expect(await choose(machine, NEW)).toEqual({ runAs: made.runAs });
    expect(machine.accounts().filter(({ name }) => name === OWN_USER)).toHaveLength(1);
  });

  test("two starts at once make one", async () => {
    const machine = ownAccounts(onTestFinished);
    const made = await Promise.all([1, 2, 3].map(() => choose(machine, NEW)));
    expect(new Set(made.map(({ runAs }) => runAs)).size, JSON.stringify(made)).toBe(1);
    expect(machine.accounts().filter(({ name }) => name === OWN_USER)).toHaveLength(1);
  });

  test.each([
    ["/etc is read-only", { isReadOnly: true }, /EROFS/],
    ["there is no useradd", { hasUseradd: false }, /there is no useradd/],
  ])("where %s one sentence says so, and they run as uid 1000", async (_, options, reason) => {
    const { runAs, note } = await choose(ownAccounts(onTestFinished, options), NEW);
    expect(runAs).toBe("1000:1000");
    expect(note).toMatch(reason);
    expect(note).toMatch(/they run as uid 1000 \(TURND_RUN_AS\)$/);
    expect(note).not.toContain("\n");
  });

  test("a state that cannot be looked at gets no other user: a sentence says what to set", async () => {
    const machine = ownAccounts(onTestFinished);
    const state = temporaryDirectory(onTestFinished);
    symlinkSync("sessions", join(state, "sessions"));
    const refused = choose(machine, { ...NEW, state });
    await expect(refused).rejects.toThrow(/TURND_RUN_AS is not set, and whose the state is cannot be seen \(ELOOP/);
    expect(machine.accounts().filter(({ name }) => name === OWN_USER)).toEqual([]);
  });

  test("what leaves nothing on the machine makes none, and uses the one that is there", async () => {
    const machine = ownAccounts(onTestFinished);
    expect(await choose(machine, NEW, "find")).toEqual({ runAs: "1000:1000" });
    expect(machine.accounts().some(({ name }) => name === OWN_USER)).toBe(false);
    const { runAs } = await choose(machine, NEW);
    expect(await choose(machine, NEW, "find")).toEqual({ runAs });
  });

  test("a user of that name who is root is none", async () => {
    const machine = ownAccounts(onTestFinished);
    appendFileSync(machine.passwd, "turnd-cli:x:0:0::/root:/bin/bash\n");
    const { runAs } = await choose(machine, NEW);
    expect(runAs).toBe("1000:1000");
  });
});

describe.skipIf(process.getuid?.() !== 0)("a state keeps the user it was made with", () => {
  const owned = (path: string, uid: number): string => {
    mkdirSync(path, { recursive: true });
    chownSync(path, uid, uid);
    return path;
  };

  test("whose homes its sessions have, before that of any other directory", async () => {
    const state = temporaryDirectory(onTestFinished);
    owned(join(state, "sessions/b/home"), 1_234);
    mkdirSync(join(state, "sessions/a"));
    const directories = [owned(join(state, "users/home"), 4_321)];
    expect(await chooseCliUser({ state, directories }, true)).toEqual({ runAs: "1234:1234" });
    expect(await chooseCliUser({ state: "/nowhere", directories }, true)).toEqual({ runAs: "4321:4321" });
  });

  test("and what is root's, or a link, shows none", async () => {
    const state = temporaryDirectory(onTestFinished);
    owned(join(state, "elsewhere"), 1_234);
    owned(join(state, "sessions/a/home"), 0);
    mkdirSync(join(state, "sessions/b"));
    symlinkSync(join(state, "elsewhere"), join(state, "sessions/b/home"));
    const directories = [owned(join(state, "theirs"), 4_321)];
    expect(await chooseCliUser({ state, directories }, true)).toEqual({ runAs: "4321:4321" });
  });
});

test.skipIf(process.getuid?.() === 0)("another user than root runs the CLIs itself, and is told once", async () => {
  const { runAs, note } = await chooseCliUser(NEW, true);
  expect(runAs).toBe("self");
  expect(note).toContain("not root: the CLIs run as this user too");
});
