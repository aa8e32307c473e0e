import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { giveToUser } from "./temporary.ts";

/** Directories with plugins for CLI A, each of which leaves its name where it runs. */
export interface HostileRepository {
  /** Git's work tree, whose `.opencode` is a link. */
  readonly repository: string;
  /** A directory deep in it, with plugins of its own. */
  readonly nested: string;
  /** A further work tree of that repository: its `.git` is a file. */
  readonly worktree: string;
  /** Outside of any repository, below a directory with plugins. */
  readonly plain: string;
  /** A link to it. */
  readonly linked: string;
  /** Writes one more plugin, as a tool would: the shell command for it, to be run in `plain`. */
  readonly lateCommand: string;
  /** Names of the plugins that have run since the last question, sorted. */
  drainRan(): string[];
}

/** The marker in its instructions for a model. */
export const HOSTILE_TEXT = "These are instructions of a hostile repository.";

/** Makes one in a directory of the CLIs' user. */
export function makeHostileRepository(directory: string): HostileRepository {
  const marks = join(directory, "ran.txt");
  const [repository, worktree, plain] = ["repository", "worktree", "above/plain"].map((name) => join(directory, name));
  if (repository === undefined || worktree === undefined || plain === undefined) throw new Error("no name");
  const nested = join(repository, "packages/deep");
  const linked = join(directory, "linked");
  const plugin = (name: string): string =>
    `import { appendFileSync } from "node:fs"; appendFileSync(${JSON.stringify(marks)}, "${name}\\n");\n` +
    `export default { id: "${name}", setup() {} };\n`;
  const put = (path: string, content: string): void => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  };
  writeFileSync(marks, "");
  put(join(nested, "notes.txt"), "first line\n");
  const git = (...args: readonly string[]): string => execFileSync("git", args, { cwd: repository, encoding: "utf8" });
  git("init", "--quiet");
  git("add", "--all");
  for (const message of ["first", "second"])
    git(
      "-c",
      "user.name=t",
      "-c",
      "user.email=t@example.com",
      "commit",
      "--quiet",
      "--allow-empty",
      `--message=${message}`,
    );
  git("worktree", "add", "--quiet", "--detach", worktree);
  for (const [root, name] of [
    [plain, "plain"],
    [dirname(plain), "above"],
    [nested, "nested"],
    [worktree, "worktree"],
  ] as const) {
    put(join(root, `.opencode/plugin/own-${name}.ts`), plugin(`directory of ${name}`));
    put(join(root, "by-json.ts"), plugin(`json of ${name}`));
    put(join(root, "opencode.json"), JSON.stringify({ plugin: ["./by-json.ts"] }));
    // No version looks for these, on a file system that tells case apart.
    put(join(root, ".OpenCode/plugin/own.ts"), plugin(`other case of ${name}`));
    put(join(root, "Opencode.json"), JSON.stringify({ plugin: ["./.OpenCode/plugin/own.ts"] }));
  }
  // The name is one, whatever it leads to: a second name of a file, and a link.
  renameSync(join(worktree, "opencode.json"), join(worktree, "other.json"));
  linkSync(join(worktree, "other.json"), join(worktree, "opencode.json"));
  renameSync(join(nested, "opencode.json"), join(nested, "other.json"));
  symlinkSync("other.json", join(nested, "opencode.json"));
  // What the CLI's own switches keep out of every version.
  const mark = ["/bin/sh", "-c", `echo program of plain >>${marks}`];
  const mcp = { hostile: { type: "local", command: mark, enabled: true } };
  const formatter = { hostile: { command: mark, extensions: [".json", ".ts"] } };
  put(
    join(plain, "opencode.json"),
    JSON.stringify({ plugin: ["./by-json.ts"], mcp, formatter, instructions: ["AGENTS.md"] }),
  );
  put(join(plain, ".opencode/tool/hostile.ts"), plugin("tool of plain"));
  put(join(plain, ".opencode/agent/build.md"), HOSTILE_TEXT);
  for (const name of ["AGENTS.md", "CLAUDE.md", ".opencode/AGENTS.md"]) put(join(plain, name), HOSTILE_TEXT);
  put(join(plain, ".opencode/plugins/q.js"), plugin("second directory of plain"));
  put(join(plain, ".opencode/opencode.json"), JSON.stringify({ plugins: ["./inner.ts"] }));
  put(join(plain, ".opencode/inner.ts"), plugin("inner json of plain"));
  put(join(plain, "nodot"), plugin("jsonc of plain"));
  put(join(plain, "opencode.jsonc"), JSON.stringify({ plugins: ["./nodot"] }));
  // A module that the CLI's own code asks for and its binary does not have; Bun asks no plugin about a file without an ending.
  const lacking = "esprima";
  put(join(plain, "base.json"), JSON.stringify({ compilerOptions: { paths: { [lacking]: ["./mapped"] } } }));
  put(join(plain, "tsconfig.json"), JSON.stringify({ extends: "./base.json" }));
  put(join(plain, "mapped"), plugin("mapped module of plain"));
  put(join(nested, `node_modules/${lacking}/package.json`), JSON.stringify({ name: lacking, main: "module" }));
  put(join(nested, `node_modules/${lacking}/module`), plugin("module of nested"));
  put(join(directory, `node_modules/${lacking}/package.json`), JSON.stringify({ name: lacking, main: "module" }));
  put(join(directory, `node_modules/${lacking}/module`), plugin("module above worktree"));
  // Git fetches what a repository promises to have elsewhere, by a command that its configuration names.
  const lost = git("rev-parse", "HEAD~1").trim();
  rmSync(join(repository, ".git/objects", lost.slice(0, 2), lost.slice(2)));
  for (const [name, value] of [
    ["core.repositoryFormatVersion", "1"],
    ["extensions.partialClone", "origin"],
    ["remote.origin.promisor", "true"],
    ["remote.origin.url", `ext::sh -c echo% command% of% git>>${marks}`],
    ["protocol.ext.allow", "always"],
  ] as const)
    git("config", name, value);
  // Only the registry could have it.
  put(join(worktree, "opencode.jsonc"), JSON.stringify({ plugins: ["lab-nosuch-package"] }));
  put(join(directory, "elsewhere/plugin/own.ts"), plugin("linked directory of repository"));
  symlinkSync(join(directory, "elsewhere"), join(repository, ".opencode"));
  symlinkSync(plain, linked);
  put(join(plain, "late.ts"), plugin("written by a tool"));
  giveToUser(directory);
  return {
    repository,
    nested,
    worktree,
    plain,
    linked,
    // By a rename of a whole directory, as fast as a tool can; then it waits, for whoever looks again.
    lateCommand:
      `mkdir -p .next/plugin && cp late.ts .next/plugin/ && mv .opencode .before && mv .next .opencode && ` +
      `cp -R .before/. .opencode && sleep 2`,
    drainRan() {
      const ran = readFileSync(marks, "utf8").split("\n").filter(Boolean);
      writeFileSync(marks, "");
      return [...new Set(ran)].toSorted();
    },
  };
}
