// Over 300 lines: a table of faults and the one machine they are found on.
import { once } from "node:events";
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { listChecks } from "../../src/daemon/doctor/checks.ts";
import { EXECUTORS } from "../../src/daemon/executors/registry.ts";
import { secretsOfEnvironment } from "../../src/daemon/commands/render.ts";
import { runDoctor } from "../../src/daemon/commands/doctor.ts";
import { createRedactor } from "../../src/daemon/event-log/redact.ts";
import { readSettings, type Settings } from "../../src/daemon/settings.ts";
import { startDaemon } from "../harness/daemon.ts";
import { fakeEnv } from "../harness/fake-env.ts";
import { processesNaming } from "../harness/processes.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory, userDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

/** Owners can be told apart by root alone. */
const IS_ROOT = !CLI_USER.isSelf;
const KEY = "FAKE-KEY-FOR-TESTS";

const Report = z.strictObject({
  ok: z.boolean(),
  version: z.string(),
  checks: z.array(
    z.strictObject({
      name: z.string(),
      level: z.enum(["ok", "warn", "fault"]),
      message: z.string(),
      remedy: z.string().optional(),
    }),
  ),
});

interface Machine {
  readonly directory: string;
  readonly home: string;
  readonly state: string;
  readonly workspace: string;
  readonly env: Record<string, string>;
  readonly sandboxDirectory?: string;
}

/** A sound set-up in a directory of its own: both CLIs are fakes that answer as the real ones do. */
function machine(onDone: (cleanUp: () => void) => void = onTestFinished): Machine {
  const directory = temporaryDirectory(onDone);
  const env = fakeEnv(directory);
  const bin = join(directory, "bin");
  fakeCli(join(bin, "fake-cli-a"), "1.14.34", READS);
  fakeCli(join(bin, "rg"), "14.1.0", "exit 0");
  const home = userDirectory(join(directory, "home"));
  chmodSync(home, 0o700);
  const state = join(directory, "state");
  mkdirSync(state);
  chmodSync(state, 0o711);
  const tokenFile = join(directory, "token");
  writeFileSync(tokenFile, "token-of-this-test\n", { mode: 0o600 });
  return {
    directory,
    home,
    state,
    workspace: userDirectory(join(directory, "workspace")),
    env: {
      ...env,
      CLI_A_NAME: "fake-cli-a",
      CLI_A_BIN: join(bin, "fake-cli-a"),
      CLI_A_PROVIDER: "lab",
      CLI_A_MODEL: "m",
      CLI_A_BASE_URL: "http://127.0.0.1:9/v1",
      CLI_A_API_KEY: KEY,
      LANG: "C.UTF-8",
      TURND_TOKEN_FILE: tokenFile,
      TURND_PORT: "0",
    },
  };
}

/** What a fake CLI A does with a configuration that is none, as the real one. */
const READS = `read -r line <"$XDG_CONFIG_HOME/fake-cli-a/config.json"
case "$line" in "{turnd:"*) echo "Error: not valid JSON" >&2; exit 1 ;; esac
exit 0`;

/** A program that tells its version, and for everything else does as it is told. */
function fakeCli(path: string, version: string, otherwise: string): void {
  writeFileSync(path, `#!/bin/sh\n[ "$1" = --version ] && echo "fake ${version}" && exit 0\n${otherwise}\n`);
  chmodSync(path, 0o755);
}

/** Looks at a machine, and shows that neither the key nor the token is told. */
async function doctor(
  { home, state, workspace, env, sandboxDirectory = join(REPOSITORY, "sandbox") }: Machine,
  isJson: boolean,
): Promise<{ code: number; text: string }> {
  const variables = {
    TURND_HOME: home,
    TURND_STATE_DIR: state,
    TURND_WORKSPACE: workspace,
    TURND_RUN_AS: CLI_USER.isSelf ? "self" : "1000:1000",
    ...env,
  };
  const out = new PassThrough();
  const self = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const readEnvironment = (): Settings => readSettings(variables, self);
  const code = await runDoctor({
    readSettings: readEnvironment,
    executors: EXECUTORS,
    sandboxDirectory,
    redact: createRedactor(secretsOfEnvironment(variables, self, EXECUTORS)),
    isJson,
    out,
    signal: new AbortController().signal,
  });
  out.end();
  const printed = await text(out);
  for (const secret of [KEY, "token-of-this-test"]) expect(printed).not.toContain(secret);
  return { code, text: printed };
}

/** What the doctor says that is not ok, by name. */
async function findings(subject: Machine): Promise<Record<string, string>> {
  const { text: printed, code } = await doctor(subject, true);
  const { ok, checks } = Report.parse(JSON.parse(printed));
  const bad = checks.filter(({ level }) => level !== "ok");
  expect([ok, code]).toEqual(bad.some(({ level }) => level === "fault") ? [false, 1] : [true, 0]);
  for (const { remedy } of bad) expect(remedy).toBeTruthy();
  return Object.fromEntries(bad.map(({ name, level, message }) => [name, `${level}: ${message}`]));
}

test.runIf(IS_ROOT)("a sound set-up is all ok, a line a check, and nothing stays behind", async () => {
  const subject = machine();
  const scratch = (): string[] =>
    readdirSync(tmpdir()).filter((name) => name.startsWith(`turnd-doctor-${process.pid}-`));
  const before = scratch();
  const { text: printed, code } = await doctor(subject, false);
  const lines = printed.trimEnd().split("\n");
  expect(lines.filter((line) => !/^ok {4}[a-z-]+: /.test(line))).toEqual([]);
  expect([code, lines.length]).toEqual([0, listChecks(EXECUTORS).length + 1]);
  expect(printed).toMatch(/^ok {4}cli-b-sandbox: the sandbox of \S+ works$/m);
  expect(scratch()).toEqual(before);
  expect(readdirSync(subject.state)).toEqual([]);
  expect(processesNaming(subject.directory, "anywhere")).toEqual([]);
});

test("a variable that is not allowed is the one thing told", async () => {
  const subject = machine();
  const found = await findings({ ...subject, env: { ...subject.env, TURND_MAX_TURNS: "many", CLI_B_MODEL: "" } });
  expect(found).toEqual({ settings: expect.stringMatching(/^fault: TURND_MAX_TURNS is "many"/) });
});

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
    "a CLI that is not there",
    () => ({ CLI_A_BIN: "/usr/bin/no-such-cli" }),
    { "cli-a": /^fault: .*missing or not executable/, "cli-a-configuration": /^warn: cannot be asked/ },
  ],
  [
    "a CLI of a version that nobody measured",
    ({ directory }) => {
      const path = join(directory, "bin/newer");
      fakeCli(path, "2.0.0", READS);
      return { CLI_A_BIN: path };
    },
    { "cli-a": /^warn: .*2\.0\.0 was never measured \(1\.3\.2 to 1\.14\.34 was\)/ },
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

test.runIf(IS_ROOT)("it finds a full disk", async () => {
  const subject = machine();
  await execa("mount", ["-t", "tmpfs", "-o", "size=2m,mode=711", "turnd-test", subject.state]);
  onTestFinished(async () => void (await execa("umount", ["--lazy", subject.state])));
  expect(await findings(subject)).toEqual({ disk: expect.stringMatching(/^fault: .*state has [12] MiB/) });
});

test.runIf(IS_ROOT)("it finds a disk without inodes", async () => {
  const subject = machine();
  await execa("mount", ["-t", "tmpfs", "-o", "size=2g,nr_inodes=100,mode=711", "turnd-test", subject.state]);
  onTestFinished(async () => void (await execa("umount", ["--lazy", subject.state])));
  expect(await findings(subject)).toEqual({ disk: expect.stringMatching(/^fault: .* \d\d inodes free/) });
});

test.runIf(IS_ROOT)(
  "it finds a CLI whose own sandbox cannot work, where the mode needs it and where only a plan does",
  async () => {
    const subject = machine();
    const path = join(subject.directory, "bin/unboxed");
    const asked =
      'case "$1" in sandbox) echo "bwrap: No permissions" >&2; exit 1;; exec) grep -q "^.turnd:" "$FAKE_CLI_B_HOME/config.toml" || echo "No prompt provided via stdin." >&2; exit 1;; esac';
    fakeCli(path, "0.139.0", asked);
    const env = { ...subject.env, CLI_B_BIN: path };
    expect(await findings({ ...subject, env })).toEqual({
      "cli-b-sandbox": expect.stringMatching(/^warn: .*bwrap: No permissions/),
    });
    expect(await findings({ ...subject, env: { ...env, CLI_B_SANDBOX_MODE: "workspace-write" } })).toEqual({
      "cli-b-sandbox": expect.stringMatching(/^fault: .*bwrap: No permissions/),
    });
  },
);

test.runIf(IS_ROOT)("it finds a port that another program holds, and knows turnd's own", async () => {
  const server = createServer((socket) => socket.end()).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const subject = machine();
  expect(await findings({ ...subject, env: { ...subject.env, TURND_PORT: String(port) } })).toEqual({
    ports: expect.stringMatching(new RegExp(`^fault: ${port} \\(/v1\\) is held by another program`)),
  });
  const turnd = await startDaemon({ directory: subject.directory, env: subject.env });
  onTestFinished(async () => void (await turnd.stop()));
  const own = new URL(turnd.url).port;
  expect(await findings({ ...subject, env: { ...subject.env, TURND_PORT: own } })).toEqual({});
});

test.runIf(IS_ROOT)(
  "it tells a port that is only held for turnd from one that another program listens on",
  async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    server.close();
    await once(server, "close");
    const subject = machine();
    const look = () => findings({ ...subject, env: { ...subject.env, TURND_PORT: String(port) } });
    const holding = [join(REPOSITORY, "sandbox/hold-ports"), `0:0.0.0.0:${port}`, "--", "sleep", "300"];
    const holder = execa("/usr/bin/perl", holding, { reject: false });
    onTestFinished(async () => void (holder.kill("SIGKILL"), await holder));
    await waitFor("the port to be held", async () => {
      const attempt = createServer().listen(port, "127.0.0.1");
      const isFree = await once(attempt, "listening").then(
        () => true,
        () => false,
      );
      attempt.close();
      return !isFree;
    });
    expect(await look()).toEqual({
      ports: expect.stringMatching(new RegExp(`^warn: ${port} \\(/v1\\) is held, and no program listens on it`)),
    });
  },
);

test.runIf(IS_ROOT)("it finds a keeper that does not start", async () => {
  const subject = machine();
  const sandboxDirectory = join(subject.directory, "sandbox");
  cpSync(join(REPOSITORY, "sandbox/write-home"), join(sandboxDirectory, "write-home"));
  writeFileSync(join(sandboxDirectory, "keeper"), "use No::Such::Module;\n");
  expect(await findings({ ...subject, sandboxDirectory })).toEqual({
    keeper: expect.stringMatching(/^fault: no turn can run: /),
  });
});

test.runIf(IS_ROOT)("it finds that root may not do what it has to", async () => {
  const subject = machine();
  const sandbox = ["--bounding-set=-all,+setuid,+setgid,+setpcap,+chown,+dac_override", "--inh-caps=-all", "--"];
  const { stdout, exitCode } = await execa(
    "/usr/bin/setpriv",
    [...sandbox, process.execPath, join(REPOSITORY, "src/daemon/main.ts"), "doctor"],
    {
      extendEnv: false,
      env: {
        ...subject.env,
        TURND_HOME: subject.home,
        TURND_STATE_DIR: subject.state,
        TURND_WORKSPACE: subject.workspace,
      },
      reject: false,
    },
  );
  expect([exitCode, stdout]).toEqual([1, expect.stringMatching(/^fault capabilities: root lacks KILL/m)]);
});

test.runIf(IS_ROOT).each(["SIGTERM", "SIGINT"] as const)(
  "%s while a CLI hangs leaves nothing behind",
  async (signal) => {
    const subject = machine();
    const path = join(subject.directory, "bin/hanging");
    const mark = `${process.pid}${signal === "SIGINT" ? 78 : 79}`;
    writeFileSync(path, `#!/bin/sh\nsetsid sleep ${mark}\n`);
    chmodSync(path, 0o755);
    const running = execa(process.execPath, [join(REPOSITORY, "src/daemon/main.ts"), "doctor"], {
      extendEnv: false,
      env: {
        ...subject.env,
        CLI_A_BIN: path,
        TMPDIR: "/tmp",
        TURND_HOME: subject.home,
        TURND_STATE_DIR: subject.state,
        TURND_WORKSPACE: subject.workspace,
      },
      reject: false,
    });
    const left = (): string[] => readdirSync("/tmp").filter((name) => name.startsWith(`turnd-doctor-${running.pid}-`));
    await waitFor("the question", () => processesNaming(`sleep\0${mark}`).length > 0);
    expect(left()).toHaveLength(1);
    running.kill(signal);
    const { exitCode, stdout, stderr } = await running;
    expect([exitCode, stdout, stderr]).toEqual([1, "", expect.stringContaining("nothing was left behind")]);
    expect([processesNaming(`sleep\0${mark}`), left()]).toEqual([[], []]);
  },
);
