import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { filesForCliA } from "./brought-for-cli-a.ts";
import { filesForCliB } from "./brought-for-cli-b.ts";
import { filesForOthers } from "./brought-for-others.ts";
import type { Marks } from "./brought-marks.ts";
import { giveToUser } from "./temporary.ts";

/** A repository with everything that a program might run of one by itself. */
export interface BroughtPrograms {
  readonly repository: string;
  /** What has run since the last question, sorted. */
  drainRan(): string[];
}

/**
 * Makes one in a directory of the CLIs' user.
 *
 * @param url - an address that its files name, for registries, servers and texts
 */
export function makeBroughtPrograms(directory: string, url: string): BroughtPrograms {
  const ran = join(directory, "ran.txt");
  const repository = join(directory, "repository");
  const command = (name: string): string => `echo '${name}' >>${ran}`;
  const marks: Marks = {
    command,
    program: (name) => ["/bin/sh", "-c", command(name)],
    script: (name) => `#!/bin/sh\n${command(name)}\n`,
    module: (name) =>
      `require("node:fs").appendFileSync(${JSON.stringify(ran)}, ${JSON.stringify(`${name}\n`)});\nmodule.exports = {};\n`,
    url,
  };
  const put = (path: string, content: string): void => {
    const file = join(repository, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    if (content.startsWith("#!")) chmodSync(file, 0o755);
  };
  const git = (...args: readonly string[]): string =>
    execFileSync("git", args, { cwd: repository, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

  mkdirSync(directory, { recursive: true });
  writeFileSync(ran, "");
  put("notes.ts", "first line\n");
  put("filtered.txt", "one\n");
  git("init", "--quiet");
  git("add", "--all");
  const author = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
  for (const message of ["first", "second"])
    git(...author, "commit", "--quiet", "--allow-empty", `--message=${message}`);
  for (const files of [filesForCliA(marks), filesForCliB(marks), filesForOthers(marks)])
    for (const [path, content] of Object.entries(files)) put(path, content);
  // A change that git has to look into, through filters and file monitors.
  put("filtered.txt", "two\n");
  // The first commit is elsewhere, and a command fetches it.
  const lost = git("rev-parse", "HEAD~1").trim();
  rmSync(join(repository, ".git/objects", lost.slice(0, 2), lost.slice(2)));
  writeFileSync(join(repository, ".git/config"), gitConfig(marks));
  for (const hook of HOOKS) put(`.git/hooks/${hook}`, marks.script(`hook ${hook}`));
  giveToUser(directory);
  return {
    repository,
    drainRan() {
      const names = readFileSync(ran, "utf8").split("\n").filter(Boolean);
      writeFileSync(ran, "");
      return [...new Set(names)].toSorted();
    },
  };
}

const HOOKS = [
  "applypatch-msg",
  "commit-msg",
  "fsmonitor-watchman",
  "post-checkout",
  "post-commit",
  "post-index-change",
  "post-merge",
  "post-rewrite",
  "pre-auto-gc",
  "pre-commit",
  "pre-push",
  "prepare-commit-msg",
  "reference-transaction",
] as const;

/** Everything in a repository's configuration that names a command of git's. */
function gitConfig({ command }: Marks): string {
  const quoted = (name: string): string => JSON.stringify(`${command(name)} #`);
  const section = (title: string, values: Readonly<Record<string, string>>): string =>
    `[${title}]\n${Object.entries(values)
      .map(([key, value]) => `\t${key} = ${value}\n`)
      .join("")}`;
  return [
    section("core", {
      repositoryFormatVersion: "1",
      fsmonitor: quoted("git core.fsmonitor"),
      sshCommand: quoted("git core.sshCommand"),
      gitProxy: quoted("git core.gitProxy"),
      editor: quoted("git core.editor"),
      pager: quoted("git core.pager"),
      askPass: quoted("git core.askPass"),
      alternateRefsCommand: quoted("git core.alternateRefsCommand"),
    }),
    section("extensions", { partialClone: "origin" }),
    section('remote "origin"', {
      promisor: "true",
      url: `"ext::sh -c ${command("git remote").replaceAll(" ", "% ")}"`,
      uploadpack: quoted("git uploadpack"),
    }),
    section('protocol "ext"', { allow: "always" }),
    section("credential", { helper: `"!${command("git credential")}"` }),
    section("diff", { external: quoted("git diff.external") }),
    section('diff "mark"', { textconv: quoted("git textconv"), command: quoted("git diff.command") }),
    section('filter "mark"', {
      clean: `"${command("git clean")}; cat"`,
      smudge: `"${command("git smudge")}; cat"`,
      required: "true",
    }),
    section('merge "mark"', { driver: quoted("git merge.driver") }),
    section("gpg", { program: quoted("git gpg.program") }),
    section("log", { showSignature: "true" }),
    section("commit", { gpgSign: "true" }),
    section(
      "pager",
      Object.fromEntries(["status", "diff", "log", "branch"].map((name) => [name, quoted("git pager")])),
    ),
    section(
      "alias",
      Object.fromEntries(
        ["status", "rev-parse", "rev-list", "ls-files", "st"].map((name) => [name, `"!${command("git alias")}"`]),
      ),
    ),
    section("interactive", { diffFilter: quoted("git diffFilter") }),
    section("gc", { auto: "1" }),
    section("include", { path: "../.gitconfig" }),
  ].join("");
}
