import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
} from "node:fs";
import { cpSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Mutation } from "./mutation.ts";

/** Directories of packages: a copy links to them. */
const PACKAGES = ["node_modules", "sandbox/node_modules", "sandbox/versions/node_modules", "test/pins/node_modules"];

/** A copy of the working tree in which a fault may stand, and what its tests leave behind. */
export interface TreeCopy {
  readonly tree: string;
  /** Where programs that run in the copy keep temporary files. */
  readonly temporary: string;
  /**
   * Puts a fault into the copy.
   *
   * @returns makes the file as it was
   * @throws if its text does not stand there exactly once
   */
  apply(mutation: Mutation): () => void;
  /** Ends processes that tests left, and removes their temporary files. */
  tidy(): void;
  remove(): void;
}

/** Copies what git knows of the tree, changed and new files too; packages are linked. */
export function copyTree(repository: string): TreeCopy {
  // Short: sockets of tests have to fit below it.
  const root = mkdtempSync(join(tmpdir(), "mut-"));
  chmodSync(root, 0o755);
  const tree = join(root, "tree");
  const temporary = join(root, "t");
  mkdirSync(temporary);
  const listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  for (const path of execFileSync("git", listed, { cwd: repository, encoding: "utf8" }).split("\0")) {
    if (path !== "" && existsSync(join(repository, path))) copyFile(join(repository, path), join(tree, path));
  }
  for (const path of PACKAGES) symlinkSync(join(repository, path), join(tree, path));
  if (existsSync(join(repository, "dist"))) cpSync(join(repository, "dist"), join(tree, "dist"), { recursive: true });
  execFileSync("git", ["init", "-q"], { cwd: tree });
  execFileSync("git", ["add", "-A"], { cwd: tree });
  return {
    tree,
    temporary,
    apply({ file, find, replace }) {
      const path = join(tree, file);
      const text = readFileSync(path, "utf8");
      const times = text.split(find).length - 1;
      if (times !== 1) throw new Error(`stands ${times} times in ${file}: ${find}`);
      writeFileSync(
        path,
        text.replace(find, () => replace),
      );
      return () => writeFileSync(path, text);
    },
    tidy() {
      endProcesses(root);
      rmSync(temporary, { recursive: true, force: true });
      mkdirSync(temporary);
    },
    remove() {
      endProcesses(root);
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function copyFile(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  if (lstatSync(from).isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  else copyFileSync(from, to);
}

/** A process that a test left is known by the directory that its command line, environment or working directory names. */
function endProcesses(root: string): void {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    if (Number(pid) !== process.pid && names(pid, root)) kill(Number(pid));
  }
}

function names(pid: string, root: string): boolean {
  try {
    const texts = ["cmdline", "environ"].map((file) => readFileSync(`/proc/${pid}/${file}`, "utf8"));
    return [...texts, readlinkSync(`/proc/${pid}/cwd`)].some((text) => text.includes(root));
  } catch {
    // It has ended, or is another user's.
    return false;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
