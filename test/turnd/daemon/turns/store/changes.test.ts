import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { asUser } from "../../../../../src/turnd/daemon/process/run-as.ts";
import { createTurndClient } from "../../../../../src/turnd/client/turnd-client.ts";
import { startDaemon, type TestDaemon } from "../../../../harness/daemon.ts";
import { fakeEnv } from "../../../../harness/fake-env.ts";
import { CLI_USER, temporaryDirectory, userDirectory } from "../../../../harness/temporary.ts";

let turnd: TestDaemon;
beforeAll(async () => {
  const directory = temporaryDirectory(afterAll);
  const env = { ...fakeEnv(directory), TURND_MAX_DIFF_BYTES: "20000" };
  turnd = await startDaemon({ directory, env });
  afterAll(async () => void (await turnd.stop()));
});

const sh = (cwd: string, script: string): string => {
  const [file = "", ...args] = asUser(CLI_USER, ["/bin/sh", "-ec", script]);
  return execFileSync(file, args, { cwd, encoding: "utf8", env: { PATH: "/usr/bin:/bin", HOME: "/nonexistent" } });
};

/** A repository of the CLIs' user with one commit; every command that its configuration names leaves a mark. */
function repository(name: string): string {
  const directory = userDirectory(join(turnd.workspace, name));
  sh(
    directory,
    `git init -q . && git config user.name x && git config user.email x@example.invalid
     printf 'one\ntwo\n' > text; printf 'gone\n' > gone; printf 'ignored\n' > .gitignore; printf 'a\\000b' > binary
     printf '*.driven filter=evil diff=evil\n' > .gitattributes; echo x > a.driven
     mkdir sub && (cd sub && git init -q . && git config user.name x && git config user.email x@example.invalid &&
       git commit -q --allow-empty -m sub && git config core.fsmonitor 'touch ../../ran-sub;:')
     git add -A 2>/dev/null; git commit -qm one
     for key in filter.evil.clean filter.evil.process diff.evil.textconv diff.evil.command diff.external core.fsmonitor; do
       git config $key "touch ../ran-$key;:"
     done
     mkdir -p .git/hooks && printf '#!/bin/sh\ntouch ../ran-hook\n' > .git/hooks/post-index-change
     chmod 755 .git/hooks/post-index-change; echo before-the-turn >> text`,
  );
  return directory;
}

/** One that configures nothing. */
function plainRepository(daemon: TestDaemon, name: string): string {
  const directory = userDirectory(join(daemon.workspace, name));
  sh(directory, "git init -q . && git config user.name x && git config user.email x@example.invalid");
  sh(directory, "echo one > text; echo gone > gone; git add -A; git commit -qm one");
  return directory;
}

const diffOf = async (turnId: string) => {
  const response = await fetch(`${turnd.url}/v1/turns/${turnId}/diff`);
  return { response, patch: await response.text() };
};

test("a turn's diff has what it changed alone, applies, and runs nothing that the repository names", async () => {
  const workspace = repository("repository");
  const before = join(turnd.workspace, "before");
  execFileSync("cp", ["-a", workspace, before]);
  const change =
    "echo by-the-turn >> text; rm gone; printf 'a\\\\000c' > binary; echo y >> a.driven; echo new > 'new file'; " +
    "echo secret > ignored; ln -s /etc/passwd link; echo dirty > sub/file";
  const turn = await turnd.run({ executor: "cli-b", workspace, input: `shell ${change}`, diff: true });
  expect(turn.status).toBe("completed");
  const { response, patch } = await diffOf(turn.turn_id);
  expect([response.status, response.headers.get("x-turnd-truncated")]).toEqual([200, null]);
  expect(
    [...patch.matchAll(/^diff --git a\/(.*) b\//gm)].map(([, name = ""]) => name).toSorted((a, b) => (a < b ? -1 : 1)),
  ).toEqual(["a.driven", "binary", "gone", "link", "new file", "text"]);
  expect(patch).toContain("+by-the-turn");
  expect(patch).not.toMatch(/\+before-the-turn|secret|root:/);
  expect(existsSync(join(turnd.workspace, "ran-hook"))).toBe(false);
  expect(execFileSync("ls", [turnd.workspace], { encoding: "utf8" })).not.toContain("ran-");
  // The repository's own index and objects are as they were.
  expect(sh(workspace, "git -c core.fsmonitor=false diff --cached --name-only")).toBe("");

  const patchFile = join(before, "the.patch");
  writeFileSync(patchFile, patch);
  execFileSync("git", ["apply", "the.patch"], {
    cwd: before,
    env: { PATH: "/usr/bin:/bin", HOME: "/nonexistent", GIT_DIR: "/dev/null" },
  });
  for (const name of ["text", "binary", "new file"]) {
    expect(readFileSync(join(before, name))).toEqual(readFileSync(join(workspace, name)));
  }

  const next = await turnd.run({ session_id: turn.session_id, workspace, input: "hello", diff: true });
  const nothing = await diffOf(next.turn_id);
  expect([nothing.response.status, nothing.patch]).toEqual([200, ""]);
});

test("a diff that is too long is cut off and says so; where there is none, the answer says why", async () => {
  const workspace = repository("large");
  const large = await turnd.run({ executor: "cli-b", workspace, input: "shell seq 20000 > numbers", diff: true });
  const { response, patch } = await diffOf(large.turn_id);
  expect([response.headers.get("x-turnd-truncated"), patch.length]).toEqual(["true", 20_000]);

  const codeOf = async (body: object) => {
    const turn = await turnd.run({ executor: "cli-b", input: "hello", ...body });
    const { response: refused, patch: text } = await diffOf(turn.turn_id);
    return [refused.status, JSON.parse(text).detail];
  };
  expect(await codeOf({ workspace })).toEqual([404, expect.objectContaining({ code: "diff_not_found" })]);
  const none = userDirectory(join(turnd.workspace, "none"));
  // A directory above may be a repository; this one is cut off from it.
  mkdirSync(join(none, ".git"));
  rmSync(join(none, ".git"), { recursive: true });
  writeFileSync(join(none, ".git"), "no repository\n");
  expect(await codeOf({ workspace: none, diff: true })).toEqual([
    404,
    expect.objectContaining({ code: "diff_not_found", message: expect.stringContaining("names no repository") }),
  ]);
  // No repository to git either, which looks further up: only what has a head, objects and references is one.
  const outer = plainRepository(turnd, "outer");
  const inner = userDirectory(join(outer, "inner"));
  mkdirSync(join(inner, ".git"));
  const within = await turnd.run({ executor: "cli-b", workspace: inner, input: "shell echo x > new", diff: true });
  expect((await diffOf(within.turn_id)).patch).toMatch(/^diff --git a\/new b\/new\nnew file/);
  rmSync(join(outer, ".git/HEAD"));
  writeFileSync(join(turnd.workspace, ".git"), "no repository\n");
  onTestFinished(() => rmSync(join(turnd.workspace, ".git")));
  expect(await codeOf({ workspace: inner, diff: true })).toEqual([
    404,
    expect.objectContaining({ message: expect.stringContaining("names no repository") }),
  ]);
  const hanging = await turnd.admit({ executor: "cli-b", workspace, input: "hang", diff: true });
  onTestFinished(() => void turnd.request("POST", `/v1/turns/${hanging.turn_id}/cancel`));
  const { response: running } = await diffOf(hanging.turn_id);
  expect(running.status).toBe(409);
});

test("a file that git cannot convert is named, and costs no other file its place in the diff", async () => {
  const workspace = plainRepository(turnd, "encoded");
  sh(workspace, "printf '*.u16 working-tree-encoding=UTF-16\\n' > .gitattributes; printf 'plain' > 'old one.u16'");
  const input = "shell echo two >> text; printf plain > new.u16; printf '\\377\\376a\\000\\n\\000' > good.u16";
  const turn = await turnd.run({ executor: "cli-b", workspace, input, diff: true });
  const { response, patch } = await diffOf(turn.turn_id);
  expect(response.status, patch).toBe(200);
  expect(patch).toContain("+two");
  expect(patch).toMatch(/b\/good\.u16\n[^]*\+a/);
  expect(patch).not.toMatch(/(old one|new)\.u16/);
  const leftOut = JSON.parse(decodeURIComponent(response.headers.get("x-turnd-left-out") ?? "[]"));
  expect(leftOut.map(({ path }: { path: string }) => path).toSorted()).toEqual(["new.u16", "old one.u16"]);
  for (const { reason } of leftOut) expect(reason).toContain("BOM is required");
});

test("the typed client reads a diff, and `git apply` makes of it what the turn has made", async () => {
  const workspace = plainRepository(turnd, "client");
  const client = createTurndClient({ baseUrl: turnd.url });
  const change =
    "head -c 3000 /dev/urandom > new.bin; printf 'three\\n' >> text; rm gone; printf 'gr\\374n\\n' > latin";
  const { turn_id } = await client.submit({ executor: "cli-b", workspace, input: `shell ${change}`, diff: true });
  await client.wait(turn_id);
  const { patch, bytes, isTruncated } = await client.diff(turn_id);
  expect(isTruncated).toBe(false);
  // Of a file that is not UTF-8, the text is for people alone.
  expect(patch).toContain("+gr\ufffdn\n");
  const made = readFileSync(join(workspace, "new.bin"));
  sh(workspace, "git checkout -q -- gone text; rm new.bin latin");
  writeFileSync(join(workspace, "turn.patch"), bytes);
  sh(workspace, "git apply turn.patch");
  expect(readFileSync(join(workspace, "new.bin")).equals(made)).toBe(true);
  expect(readFileSync(join(workspace, "text"), "utf8")).toBe("one\nthree\n");
  expect(readFileSync(join(workspace, "latin"), "latin1")).toBe("grün\n");
  expect(existsSync(join(workspace, "gone"))).toBe(false);
});

test("a turn that ran on while turnd was killed has its diff", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const env = fakeEnv(directory);
  const before = await startDaemon({ directory, env });
  onTestFinished(async () => void (await before.stop()));
  const workspace = plainRepository(before, "killed");
  const input = "shell printf 'two\\n' >> text\npaced 4 0.3\nshell printf 'late\\n' > late\nDone.";
  const { turn_id } = await createTurndClient({ baseUrl: before.url }).submit({
    executor: "cli-b",
    workspace,
    input,
    diff: true,
  });
  for await (const { type } of createTurndClient({ baseUrl: before.url }).follow(turn_id))
    if (type === "message") break;
  before.kill("SIGKILL");
  await before.exited;
  const after = await startDaemon({ directory, env });
  onTestFinished(async () => void (await after.stop()));
  const client = createTurndClient({ baseUrl: after.url });
  expect(await client.wait(turn_id)).toMatchObject({ status: "completed" });
  const { patch } = await client.diff(turn_id);
  expect(patch).toContain("+two\n");
  expect(patch).toContain("+late\n");
});

test("a git that does not end is ended, and costs the diff alone", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const slow = await startDaemon({ directory, env: { ...fakeEnv(directory), TURND_DIFF_TIMEOUT_MS: "300" } });
  onTestFinished(async () => void (await slow.stop()));
  const workspace = plainRepository(slow, "slow");
  // Sparse: it takes no room, and git reads all of it.
  sh(workspace, "truncate -s 8G huge");
  const client = createTurndClient({ baseUrl: slow.url });
  const { turn_id } = await client.submit({ executor: "cli-b", workspace, input: "Done.", diff: true });
  expect(await client.wait(turn_id)).toMatchObject({ status: "completed", output: "Done." });
  await expect(client.diff(turn_id)).rejects.toMatchObject({
    code: "diff_not_found",
    message: expect.stringContaining("300"),
  });
});

test("a workspace that is in no repository has a diff too, which applies; repositories below it are named", async () => {
  const workspace = userDirectory(join(turnd.workspace, "no-repository"));
  sh(
    workspace,
    `echo one > text; echo gone > gone; printf 'ignored\\n' > .gitignore; echo x > ignored
     mkdir cloned && cd cloned && git init -q . && git config core.fsmonitor 'touch ../../ran-nested;:'
     git -c core.fsmonitor=false -c user.name=x -c user.email=x@example.invalid commit -q --allow-empty -m x`,
  );
  const before = join(turnd.workspace, "no-repository-before");
  execFileSync("cp", ["-a", workspace, before]);
  const change =
    "echo two >> text; rm gone; mkdir d; printf 'a\\\\000c' > d/new; echo y >> ignored; echo z > cloned/file; ";
  // The turn makes a repository: what was there before it decides.
  const input = `shell ${change} git init -q . && git -c user.name=x -c user.email=x@example.invalid commit -q --allow-empty -m x`;
  const turn = await turnd.run({ executor: "cli-b", workspace, input, diff: true });
  expect(turn.status).toBe("completed");
  const { response, patch } = await diffOf(turn.turn_id);
  expect(response.status, patch).toBe(200);
  expect([...patch.matchAll(/^diff --git a\/(.*) b\//gm)].map(([, name]) => name)).toEqual(["d/new", "gone", "text"]);
  expect(JSON.parse(decodeURIComponent(response.headers.get("x-turnd-left-out") ?? "[]"))).toEqual([
    { path: "cloned", reason: "it is a git repository of its own" },
  ]);
  expect(existsSync(join(turnd.workspace, "ran-nested"))).toBe(false);
  writeFileSync(join(before, "the.patch"), patch);
  execFileSync("git", ["apply", "the.patch"], { cwd: before, env: { PATH: "/usr/bin:/bin", GIT_DIR: "/dev/null" } });
  for (const name of ["text", "d/new"]) {
    expect(readFileSync(join(before, name))).toEqual(readFileSync(join(workspace, name)));
  }
});

test("a workspace that the repository around it ignores has a diff of its own", async () => {
  const outer = plainRepository(turnd, "ignoring");
  writeFileSync(join(outer, ".gitignore"), "/inner/\n");
  const workspace = userDirectory(join(outer, "inner"));
  const turn = await turnd.run({ executor: "cli-b", workspace, input: "shell echo x > new", diff: true });
  expect((await diffOf(turn.turn_id)).patch).toMatch(/^diff --git a\/new b\/new\nnew file/);
});

test("a workspace that is too large to be copied is reported before the turn works, and in the answer", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const env = { ...fakeEnv(directory), TURND_DIFF_MAX_COPY_BYTES: "20000" };
  const small = await startDaemon({ directory, env });
  onTestFinished(async () => void (await small.stop()));
  const client = createTurndClient({ baseUrl: small.url });
  const run = async (name: string, script: string) => {
    const workspace = userDirectory(join(small.workspace, name));
    sh(workspace, script);
    const { turn_id } = await client.submit({ executor: "cli-b", workspace, input: "shell echo x > new", diff: true });
    const types: string[] = [];
    const warnings: unknown[] = [];
    for await (const event of client.follow(turn_id)) {
      types.push(event.type);
      if (event.type === "warning") warnings.push(event.data);
    }
    return { types, warnings, diff: client.diff(turn_id) };
  };
  const fits = await run("fits", "head -c 9000 /dev/zero > a; echo b > b");
  expect(fits.warnings).toEqual([]);
  expect((await fits.diff).patch).toMatch(/^diff --git a\/new b\/new\n/);
  for (const [name, script] of [
    ["large", "head -c 20001 /dev/zero > a"],
    ["many", "touch 1 2 3 4 5"],
  ] as const) {
    const { types, warnings, diff } = await run(name, script);
    const message = expect.stringContaining("larger than 20000 bytes (TURND_DIFF_MAX_COPY_BYTES)");
    expect(warnings).toEqual([{ code: "no_diff", message }]);
    expect(types.slice(0, 2)).toEqual(["turn.started", "warning"]);
    await expect(diff).rejects.toMatchObject({ code: "diff_not_found", message });
  }
});
