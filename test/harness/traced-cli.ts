import { execFile, execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import type { HomePlan } from "../../src/turnd/daemon/executors/contract/invocation.ts";
import { asUser } from "../../src/turnd/daemon/process/run-as.ts";
import { CLI_USER, userDirectory } from "./temporary.ts";

const STRACE = "/usr/bin/strace";
export const hasStrace = spawnSync(STRACE, ["-V"]).status === 0;

export interface TracedRun {
  /** Where its trace can lie. */
  readonly directory: string;
  readonly home: string;
  readonly workspace: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Found in what it prints when the turn is done. */
  readonly done: string;
}

/** Puts a plan's directories and files where the CLIs' user can use them. */
export function layOut(home: string, plan: HomePlan): void {
  for (const name of [...plan.directories, ...(plan.emptied ?? []), "tmp"])
    mkdirSync(join(home, name), { recursive: true });
  for (const { path, content } of plan.files) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), content);
  }
  execFileSync("chown", ["-R", `${CLI_USER.uid}:${CLI_USER.gid}`, home]);
}

/** Runs a CLI as its user. @returns paths that it named in system calls, with what it looked for in vain */
export async function traceRun(run: TracedRun): Promise<string[]> {
  const trace = join(userDirectory(join(run.directory, "traces")), "trace");
  const traced = [STRACE, "-f", "-y", "-s", "4096", "-e", "trace=%file", "-o", trace, ...run.command];
  const [setpriv = "", ...command] = asUser(CLI_USER, traced);
  const own = { PATH: "/usr/bin:/bin", TMPDIR: join(run.home, "tmp"), NO_PROXY: "127.0.0.1" };
  const running = promisify(execFile)(setpriv, command, { cwd: run.workspace, env: { ...own, ...run.env } });
  running.child.stdin?.end("Hello. @@text:Noted.@@");
  expect((await running).stdout).toContain(run.done);
  return [...readFileSync(trace, "utf8").matchAll(/"([^"]*)"/g)].map(([, path = ""]) => path);
}

/** What is below a directory, by each path once: its first parts. */
export function namesBelow(directory: string, paths: readonly string[], depth = 1): string[] {
  const below = paths
    .filter((path) => path.startsWith(`${directory}/`))
    .map((path) => path.slice(directory.length + 1));
  return [...new Set(below.map((path) => path.split("/").slice(0, depth).join("/")))].toSorted();
}

/** Whether a list has a name; an entry that ends in `*` stands for all that begin so. */
export function isListed(name: string, list: readonly string[]): boolean {
  return list.some((entry) => (entry.endsWith("*") ? name.startsWith(entry.slice(0, -1)) : name === entry));
}
