import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { startDaemon, type TestDaemon } from "../../../harness/daemon.ts";
import { fakeEnv } from "../../../harness/fake-env.ts";
import { temporaryDirectory, userDirectory, userFile } from "../../../harness/temporary.ts";
import { runCommand, runOnTerminal, startCommand } from "./commands.ts";

let turnd: TestDaemon;
let here: string;
beforeAll(async () => {
  const directory = temporaryDirectory(afterAll);
  here = join(directory, "here");
  mkdirSync(here);
  turnd = await startDaemon({ directory, env: { ...fakeEnv(directory), TURND_MAX_DIFF_BYTES: "20000" } });
  afterAll(async () => void (await turnd.stop()));
});

const cli = (...args: string[]) => runCommand(turnd.url, args);

async function makeSession(name: string): Promise<{ session: string; workspace: string }> {
  const workspace = userDirectory(join(turnd.workspace, name));
  const { stdout } = await cli("sessions", "create", "--executor", "cli-b", "--workspace", workspace);
  return { session: stdout, workspace };
}

test("files go into a session's workspace and out again, byte by byte, and are listed and deleted", async () => {
  const { session, workspace } = await makeSession("files");
  const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 256));
  writeFileSync(join(here, "all bytes"), bytes);
  writeFileSync(join(here, "run.sh"), "#!/bin/sh\n");
  chmodSync(join(here, "run.sh"), 0o755);

  expect(await cli("files", "put", session, join(here, "all bytes"), "data/")).toEqual({
    exitCode: 0,
    stdout: "all bytes is written, 68.4 KiB",
    stderr: "",
  });
  expect((await cli("files", "put", session, join(here, "run.sh"))).exitCode).toBe(0);
  const typed = startCommand(turnd.url, ["files", "put", "-q", session, "-", "./typed"], { input: "typed\n" });
  expect(await typed).toMatchObject({ exitCode: 0, stdout: "", stderr: "" });
  expect(readFileSync(join(workspace, "data/all bytes")).equals(bytes)).toBe(true);
  expect(readFileSync(join(workspace, "typed"), "utf8")).toBe("typed\n");

  const list = await cli("files", "list", session);
  expect(list.stdout.split("\n").map((line) => line.replace(/\S+T\S+Z/, "TIME"))).toEqual([
    expect.stringMatching(/^TYPE +MODE +SIZE +MODIFIED +NAME$/),
    expect.stringMatching(/^directory  \d+ +TIME  data$/),
    expect.stringMatching(/^file +755 +10 B +TIME  run\.sh$/),
    expect.stringMatching(/^file +644 +6 B +TIME  typed$/),
  ]);
  expect((await cli("files", "list", "-q", session, "./data")).stdout).toBe("all bytes");
  expect(JSON.parse((await cli("files", "list", "--json", session, "data")).stdout)).toMatchObject({
    name: "all bytes",
    size_bytes: 70_000,
  });

  const copy = join(here, "copy");
  expect((await cli("files", "get", session, "data/all bytes", copy)).stdout).toContain("is written to");
  expect(readFileSync(copy).equals(bytes)).toBe(true);
  const { stdout: printed } = await execa(
    process.execPath,
    [inject("turnd"), "files", "get", session, "data/all bytes"],
    { encoding: "buffer", stdin: "ignore", env: { HOME: "/nowhere", TURND_URL: turnd.url } },
  );
  expect(Buffer.from(printed).equals(bytes)).toBe(true);
  expect((await cli("files", "get", "--zip", session, ".", join(here, "all.zip"))).exitCode).toBe(0);
  const unzip = await execa("python3", ["-m", "zipfile", "-l", join(here, "all.zip")]);
  expect(unzip.stdout).toMatch(/data\/all bytes[^]*run\.sh[^]*typed/);

  expect((await cli("files", "delete", session, "typed")).stdout).toBe("typed is deleted");
  expect((await cli("files", "delete", "--recursive", session, "data")).exitCode).toBe(0);
  expect(readdirSync(workspace)).toEqual(["run.sh"]);
});

test("what cannot be done to a file is refused in one line, and leaves nothing here or there", async () => {
  const { session, workspace } = await makeSession("refused");
  mkdirSync(join(workspace, "sub"));
  writeFileSync(join(workspace, "there"), "old");
  writeFileSync(join(here, "local"), "new");
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [["get", session, "missing", join(here, "out")], 5, /nothing at this path/],
    [["get", session, "sub", join(here, "out")], 2, /sub is a directory: list it, or get it with --zip/],
    [["get", session, "../there"], 2, /no path below the session's workspace/],
    [["list", session, "/etc"], 2, /no path below the session's workspace/],
    [["list", session, "a//b"], 2, /invalid|empty/],
    [["list", "no-such-session"], 5, /no-such-session/],
    [["put", "--new", session, join(here, "local"), "there"], 1, /something is at this path already/],
    [["put", session, here], 2, /is a directory/],
    [["put", session, join(here, "absent")], 1, /ENOENT/],
    [["put", session, "-"], 2, /name the file/],
    [["delete", session, "."], 2, /workspace itself/],
    [["delete", session, "absent"], 5, /nothing at this path/],
    [["lst", session], 2, /unknown command/],
    // The session was forgotten.
    [["get", ".", "out"], 2, /^turnd: "\." is no session id$/],
    [["put", "..", join(here, "local")], 2, /^turnd: "\.\." is no session id$/],
    [["list", "."], 2, /^turnd: "\." is no session id$/],
  ];
  for (const [args, exitCode, message] of cases) {
    const ended = await cli("files", ...args);
    expect([args, ended.exitCode, ended.stdout]).toEqual([args, exitCode, ""]);
    expect(ended.stderr).toMatch(message);
    expect(ended.stderr).not.toMatch(/\n {4}at /);
  }
  expect(readFileSync(join(workspace, "there"), "utf8")).toBe("old");
  expect(readdirSync(here).filter((name) => name.includes("out"))).toEqual([]);
});

test("a file that breaks off leaves what was there, and a file steers no terminal", async () => {
  const { session, workspace } = await makeSession("breaks");
  writeFileSync(join(workspace, "hostile"), "a\u001b]0;owned\u0007b\n");
  const shown = await runOnTerminal(turnd.url, ["files", "get", session, "hostile"]);
  expect(shown.stdout).toContain("a\\x1b]0;owned\\x07b");

  // Sparse: it takes no room, and longer than the command lives.
  await execa("truncate", ["-s", "64G", join(workspace, "huge")]);
  const to = join(here, "huge");
  writeFileSync(to, "old");
  const getting = startCommand(turnd.url, ["files", "get", session, "huge", to]);
  onTestFinished(() => void getting.kill("SIGKILL"));
  await expect
    .poll(() => readdirSync(here).some((name) => /^huge\.\d+\.part$/.test(name)), { timeout: 30_000 })
    .toBe(true);
  getting.kill("SIGINT");
  expect((await getting).exitCode).toBe(130);
  expect(readFileSync(to, "utf8")).toBe("old");
  expect(readdirSync(here).filter((name) => name.endsWith(".part"))).toEqual([]);
});

test("`run --diff` prints what the turn changed behind its events, and `show --diff` a patch that applies", async () => {
  const workspace = userDirectory(join(turnd.workspace, "diff"));
  writeFileSync(join(workspace, "text"), "one\n");
  userFile(join(workspace, "text"));
  const input = "shell printf 'two\\n' >> text; printf 'gr\\374n\\n' > latin";
  const run = await cli("run", "--executor", "cli-b", "--diff", "--workspace", workspace, input);
  expect([run.exitCode, run.stderr]).toEqual([0, ""]);
  expect(run.stdout).toMatch(/\ncompleted in [^]*\ndiff --git a\/latin b\/latin\n[^]*\n\+two$/);

  const turn = (await turnd.request("GET", "/v1/turns?limit=1")).body.turns[0].turn_id;
  const patch = await startCommand(turnd.url, ["show", "--diff", turn]);
  const apart = join(here, "apart");
  mkdirSync(apart);
  writeFileSync(join(apart, "text"), "one\n");
  const response = await fetch(`${turnd.url}/v1/turns/${turn}/diff`);
  expect(`${patch.stdout}\n`).toBe(await response.text());
  const colored = await runOnTerminal(turnd.url, ["show", "--diff", turn]);
  expect(colored.stdout).toContain("\u001b[32m+two\u001b[39m");

  const json = await cli("run", "--executor", "cli-b", "--json", "--diff", "--workspace", workspace, "shell rm latin");
  const last = JSON.parse(json.stdout.split("\n").at(-1) ?? "");
  expect(last.diff).toMatchObject({
    is_truncated: false,
    left_out: [],
    patch: expect.stringMatching(/^diff --git a\/latin/),
  });

  const large = await cli(
    "run",
    "--executor",
    "cli-b",
    "--diff",
    "--workspace",
    workspace,
    "shell seq 20000 > numbers",
  );
  expect([large.exitCode, large.stderr]).toEqual([0, expect.stringContaining("the diff is cut off")]);
  mkdirSync(join(workspace, "odd"));
  writeFileSync(join(workspace, "odd/.git"), "no repository\n");
  const odd = userDirectory(join(workspace, "odd"));
  const none = await cli("run", "--executor", "cli-b", "--diff", "--workspace", odd, "hello");
  expect([none.exitCode, none.stderr]).toEqual([0, expect.stringContaining("names no repository")]);
  expect(none.stdout).toContain("! no_diff: ");
  expect(existsSync(join(workspace, "latin"))).toBe(false);
});
