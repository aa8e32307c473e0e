import { once } from "node:events";
import { chmodSync, cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { listChecks } from "../../../../src/turnd/daemon/doctor/list-checks.ts";
import { EXECUTORS } from "../../../../src/turnd/daemon/executors/registry.ts";
import { startDaemon } from "../../../harness/daemon.ts";
import { processesNaming } from "../../../harness/processes.ts";
import { REPOSITORY } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { doctor, fakeCli, findings, IS_ROOT, machine } from "./machine.ts";

test.runIf(IS_ROOT)("a sound set-up is all ok, one line per check, and nothing stays behind", async () => {
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

test("a variable that is not allowed is all that is reported", async () => {
  const subject = machine();
  const found = await findings({ ...subject, env: { ...subject.env, TURND_MAX_TURNS: "many", CLI_B_MODEL: "" } });
  expect(found).toEqual({ settings: expect.stringMatching(/^fault: TURND_MAX_TURNS is "many"/) });
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
  "it distinguishes a port that is only held for turnd from one that another program listens on",
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
  for (const name of ["helper", "file-tree", "write-home", "tidy-home", "work-on-files", "track-changes"]) {
    cpSync(join(REPOSITORY, "sandbox", name), join(sandboxDirectory, name));
  }
  // What the helper takes of it is there.
  const keeper = readFileSync(join(REPOSITORY, "sandbox/keeper"), "utf8");
  writeFileSync(
    join(sandboxDirectory, "keeper"),
    keeper.replace("package Keeper;", "package Keeper;\nrequire No::Such::Module unless caller;"),
  );
  expect(await findings({ ...subject, sandboxDirectory })).toEqual({
    keeper: expect.stringMatching(/^fault: no turn can run: /),
  });
});

test.runIf(IS_ROOT)("it finds that root may not do what it has to", async () => {
  const subject = machine();
  const sandbox = ["--bounding-set=-all,+setuid,+setgid,+setpcap,+chown,+dac_override", "--inh-caps=-all", "--"];
  const { stdout, exitCode } = await execa(
    "/usr/bin/setpriv",
    [...sandbox, process.execPath, join(REPOSITORY, "src/turnd/main.ts"), "doctor"],
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
    const running = execa(process.execPath, [join(REPOSITORY, "src/turnd/main.ts"), "doctor"], {
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
