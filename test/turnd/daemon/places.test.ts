import { chmodSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { assertPlaces, assertStateIsOurs } from "../../../src/turnd/daemon/serve/check-directories.ts";
import { readSettings } from "../../../src/turnd/daemon/settings.ts";
import { REPOSITORY, temporaryDirectory, userDirectory } from "../../harness/temporary.ts";

const ROOT = { uid: 0, gid: 0 };
const check = (env: Record<string, string>): void => assertPlaces(readSettings(env, ROOT), REPOSITORY);

test.each([
  ["/", "it must not hold"],
  ["/root", "it must not hold root's home, /root"],
  ["/root/.config", "it must not lie in root's home, /root"],
  ["/var/lib", "it must not hold the state directory, /var/lib/turnd"],
  ["/var/lib/turnd", "it must not hold the state directory"],
  ["/var/lib/turnd/x/../home", "it must not lie in the state directory, /var/lib/turnd"],
  [REPOSITORY, "it must not hold turnd's own files"],
  [dirname(REPOSITORY), "it must not hold turnd's own files"],
  [dirname(process.execPath), "it must not hold the program that turnd runs on"],
  ["/etc/codex", "it must not lie in /etc"],
  ["/usr/local/lib/site_perl", "it must not lie in /usr"],
])("neither home nor workspace is %s", (place, why) => {
  for (const variable of ["TURND_HOME", "TURND_WORKSPACE"]) {
    expect(() => check({ [variable]: place })).toThrow(why);
    expect(() => check({ [variable]: place })).toThrow(`${variable} is /`);
  }
});

test("a link is taken for what it leads to, also above what is not there yet", () => {
  const base = temporaryDirectory(onTestFinished);
  symlinkSync("/etc", join(base, "link"));
  expect(() => check({ TURND_HOME: join(base, "link/new") })).toThrow(
    "TURND_HOME is /etc/new: it must not lie in /etc",
  );
  mkdirSync(join(base, "state"));
  symlinkSync(join(base, "state"), join(base, "alias"));
  const env = { TURND_STATE_DIR: join(base, "alias"), TURND_WORKSPACE: join(base, "state/work") };
  expect(() => check(env)).toThrow("it must not lie in the state directory");
});

test("what is beside the state, below a checkout or below /tmp is taken", () => {
  const base = temporaryDirectory(onTestFinished);
  check({});
  check({ TURND_STATE_DIR: join(base, "state"), TURND_HOME: join(base, "home"), TURND_WORKSPACE: join(base, "work") });
  check({ TURND_WORKSPACE: join(REPOSITORY, "workspace") });
  check({ TURND_WORKSPACE: userDirectory(join(base, "own")) });
  expect(existsSync(join(base, "home"))).toBe(false);
});

test("where the CLIs run as turnd's own user there is nothing to keep apart", () => {
  check({ TURND_RUN_AS: "self", TURND_HOME: "/root", TURND_STATE_DIR: "/root/.local/state/turnd" });
});

test.runIf(process.getuid?.() === 0)("a state that the CLIs' user owns or can write is refused", () => {
  const base = temporaryDirectory(onTestFinished);
  const checkState = (path: string): void => assertStateIsOurs(readSettings({ TURND_STATE_DIR: path }, ROOT));
  checkState(base);
  expect(() => checkState(userDirectory(join(base, "users")))).toThrow(/TURND_STATE_DIR is .* \(uid 1000, mode 755\)/);
  chmodSync(base, 0o777);
  expect(() => checkState(base)).toThrow(/mode 777\): it must belong to root/);
});
