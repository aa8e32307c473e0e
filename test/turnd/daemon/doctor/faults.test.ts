import { chmodSync, chownSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { userDirectory } from "../../../harness/temporary.ts";
import { fakeCli, findings, IS_ROOT, KEY, machine, READS, type Machine } from "./machine.ts";

/** Each breaks a sound set-up in one way; the doctor must say so, and say nothing else. */
const FAULTS: readonly (readonly [
  string,
  (subject: Machine) => Record<string, string> | void,
  Record<string, RegExp>,
])[] = [
  [
    "a home that belongs to root",
    ({ home }) => chownSync(home, 0, 0),
    { home: /^fault: .*home \(uid 0, mode 700\) is not uid 1000's/ },
  ],
  ["a home that others can write", ({ home }) => chmodSync(home, 0o777), { home: /^warn: .*mode 777/ }],
  [
    "a file of root's in the home",
    ({ home }) => writeFileSync(join(home, ".bashrc"), ""),
    { home: /^fault: .*\.bashrc/ },
  ],
  ["no home", () => ({ TURND_HOME: "/tmp/turnd-no-such-home" }), { home: /^warn: .*does not exist/ }],
  ["a state that all can list", ({ state }) => chmodSync(state, 0o755), { state: /^fault: .*mode 711/ }],
  ["a state that the CLIs own", ({ state }) => chownSync(state, 1000, 1000), { state: /^fault: .*could forge it/ }],
  [
    "turns that the CLIs can read",
    ({ state }) => {
      mkdirSync(join(state, "sessions/s/turns"), { recursive: true });
      chmodSync(join(state, "sessions"), 0o711);
      chmodSync(join(state, "sessions/s"), 0o711);
      chmodSync(join(state, "sessions/s/turns"), 0o755);
    },
    { state: /^fault: .*turns \(uid 0, mode 755\) should be uid 0, mode 700/ },
  ],
  [
    "an index that the CLIs can read",
    ({ state }) => {
      writeFileSync(join(state, "index.db"), "");
      chmodSync(join(state, "index.db"), 0o644);
    },
    { state: /^fault: .*index\.db \(uid 0, mode 644\) should be uid 0, mode 600/ },
  ],
  [
    "a session from the future",
    ({ state }) => {
      mkdirSync(join(state, "sessions/s"), { recursive: true, mode: 0o711 });
      chmodSync(join(state, "sessions"), 0o711);
      chmodSync(join(state, "sessions/s"), 0o711);
      utimesSync(join(state, "sessions/s"), new Date("2099-01-01"), new Date("2099-01-01"));
    },
    { clock: /^warn: .*2099-01-01/ },
  ],
  [
    "a workspace that is root's",
    ({ workspace }) => {
      chownSync(workspace, 0, 0);
      chmodSync(workspace, 0o755);
    },
    { workspace: /^fault: .*not a directory that uid 1000 can/ },
  ],
  [
    "a user without a name",
    ({ home, workspace }) => {
      for (const path of [home, workspace]) chownSync(path, 54_321, 54_321);
      return { TURND_RUN_AS: "54321:54321" };
    },
    { user: /^fault: uid 54321 has no entry/ },
  ],
  [
    "a user who logs in",
    ({ accountsFile }) => writeFileSync(accountsFile, "alice:x:1000:1000::/home/alice:/bin/bash\n"),
    { user: /^warn: the CLIs run as uid 1000, which is alice, an account with a login/ },
  ],
  [
    "a CLI that is not there",
    () => ({ CLI_A_BIN: "/usr/bin/no-such-cli" }),
    { "cli-a": /^fault: .*missing or not executable/, "cli-a-configuration": /^warn: cannot be asked/ },
  ],
  [
    "a CLI that is newer than any measured version",
    ({ directory }) => {
      const path = join(directory, "bin/newer");
      fakeCli(path, "2.0.0", READS);
      return { CLI_A_BIN: path };
    },
    {
      "cli-a": /^warn: .*2\.0\.0 is newer than any measured version \(1\.\d+\.\d+ is the newest\)/,
    },
  ],
  [
    "a CLI that is older than any measured version",
    ({ directory }) => {
      const path = join(directory, "bin/older");
      fakeCli(path, "1.0.9", READS);
      return { CLI_A_BIN: path };
    },
    { "cli-a": /^warn: .*1\.0\.9 is older than any measured version \(1\.3\.2 is the oldest\)/ },
  ],
  [
    "a CLI A that would run code of a workspace",
    ({ directory }) => {
      const path = join(directory, "bin/newer");
      fakeCli(path, "2.0.0", READS, "unset TURND_GUARD_PROOF");
      return { CLI_A_BIN: path };
    },
    { "cli-a": /^fault: .*2\.0\.0 would run code of the workspace: it ignores turnd's guard/ },
  ],
  [
    "a CLI A that may run code of a workspace",
    ({ directory }) => {
      const path = join(directory, "bin/newer");
      fakeCli(path, "2.0.0", READS);
      return { CLI_A_BIN: path, TURND_ALLOW_WORKSPACE_PLUGINS: "1" };
    },
    { "cli-a": /^warn: .*2\.0\.0 runs code that a workspace brings/ },
  ],
  [
    "a Node wrapper without its native package",
    ({ directory }) => {
      const path = join(directory, "bin/wrapper");
      const program = join(directory, "bin/fake-cli-a");
      const starts = `require("child_process").spawnSync("${program}", process.argv.slice(2), { stdio: "inherit" }).status`;
      writeFileSync(path, `#!/usr/bin/env node\nprocess.exitCode = ${starts};\n`);
      chmodSync(path, 0o755);
      return { CLI_A_BIN: path };
    },
    { "cli-a": /^warn: .*no native package/ },
  ],
  [
    "a Node wrapper that starts nothing without its native package",
    ({ directory }) => {
      const path = join(directory, "bin/wrapper");
      writeFileSync(path, "#!/usr/bin/env node\n");
      chmodSync(path, 0o755);
      return { CLI_A_BIN: path };
    },
    { "cli-a": /^fault: .*printed no version: it printed nothing .*no native package/, "cli-a-configuration": /^warn/ },
  ],
  [
    "a configuration that CLI A refuses",
    ({ directory }) => {
      const path = join(directory, "bin/refuses");
      const said = "Error: Configuration is invalid at x\\n↳ Unrecognized key: bogus";
      fakeCli(path, "1.14.34", `[ "$1 $2" = "debug config" ] && printf '${said} ${KEY}\\n' >&2 && exit 1`);
      return { CLI_A_BIN: path };
    },
    { "cli-a-configuration": /^fault: .*Configuration is invalid at x Unrecognized key: bogus/ },
  ],
  [
    "a CLI that reads its configuration from another place",
    ({ directory }) => {
      const path = join(directory, "bin/deaf");
      fakeCli(path, "1.14.34", "exit 0");
      return { CLI_A_BIN: path };
    },
    { "cli-a-configuration": /^fault: .*bin\/deaf does not read the configuration that turnd writes/ },
  ],
  [
    "a provider that CLI B cannot speak to",
    () => ({
      CLI_B_CONFIG_TOML:
        'model_provider = "p"\n[model_providers.p]\nname = "p"\nbase_url = "http://h/v1"\nwire_api = "chat"\n',
    }),
    { "cli-b-configuration": /^fault: .*wire_api "chat"/ },
  ],
  [
    "a file that a CLI would read in every session",
    ({ home }) => void userDirectory(join(home, ".fake-cli-a")),
    { "stray-configuration": /^fault: .*\.fake-cli-a is read by fake-cli-a/ },
  ],
  [
    "a token file that the CLIs can read",
    ({ env }) => chmodSync(env["TURND_TOKEN_FILE"] ?? "", 0o644),
    { token: /^fault: the CLIs can read/ },
  ],
  ["no token", () => ({ TURND_TOKEN_FILE: "" }), { token: /^warn: there is none/ }],
  ["another locale", () => ({ LANG: "C" }), { locale: /^warn: LANG=C is not UTF-8/ }],
  [
    "a PATH without git and ripgrep",
    ({ directory }) => {
      const bin = join(directory, "few");
      mkdirSync(bin);
      for (const name of ["sh", "bash", "perl", "cat"]) symlinkSync(join("/usr/bin", name), join(bin, name));
      return { PATH: bin };
    },
    { tools: /^warn: not on PATH: git, rg/ },
  ],
];

// Side by side: most of each is waiting for PID 1, which on some machines takes orphans away once in two seconds.
test.runIf(IS_ROOT).concurrent.for(FAULTS)("it finds %s", async ([, breakIt, expected], context) => {
  const subject = machine(context.onTestFinished);
  const env = breakIt(subject) ?? {};
  const home = env["TURND_HOME"] ?? subject.home;
  const found = await findings({ ...subject, home, env: { ...subject.env, ...env } });
  expect(found).toEqual(
    Object.fromEntries(Object.entries(expected).map(([name, message]) => [name, expect.stringMatching(message)])),
  );
});
