import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { asUser } from "../../src/daemon/process/run-as.ts";
import { startDaemon, type TestDaemon } from "../harness/daemon.ts";
import { fakeEnv } from "../harness/fake-env.ts";
import { CLI_USER, temporaryDirectory, userDirectory } from "../harness/temporary.ts";

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
  const hanging = await turnd.admit({ executor: "cli-b", workspace, input: "hang", diff: true });
  onTestFinished(() => void turnd.request("POST", `/v1/turns/${hanging.turn_id}/cancel`));
  const { response: running } = await diffOf(hanging.turn_id);
  expect(running.status).toBe(409);
});
