import {
  chmodSync,
  chownSync,
  copyFileSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { toRunAs } from "../../src/turnd/daemon/process/run-as.ts";

/** Absolute path of the repository. */
export const REPOSITORY = join(import.meta.dirname, "../..");

/** The user the CLIs run as in tests: uid 1000 for root, otherwise the tests' own. */
export const CLI_USER = toRunAs(
  process.getuid?.() === 0
    ? { uid: 1000, gid: 1000, isSelf: false }
    : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, isSelf: true },
  join(REPOSITORY, "sandbox"),
);

/** A directory of this test's own that the CLIs' user can reach, removed when the test is done. */
export function temporaryDirectory(onDone: (cleanUp: () => void) => void): string {
  const directory = mkdtempSync(join(tmpdir(), "turnd-test-"));
  chmodSync(directory, 0o755);
  onDone(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A copy of one of the repository's programs that the CLIs' user can run, also where that user may not enter the repository. */
export function runnableProgram(path: string, onDone: (cleanUp: () => void) => void): string {
  const copy = join(temporaryDirectory(onDone), basename(path));
  copyFileSync(join(REPOSITORY, path), copy);
  chmodSync(copy, 0o755);
  return copy;
}

/** A directory that belongs to the CLIs' user. */
export function userDirectory(path: string): string {
  mkdirSync(path, { recursive: true });
  chownSync(path, CLI_USER.uid, CLI_USER.gid);
  return path;
}

/** Gives a file to the CLIs' user. */
export function userFile(path: string): void {
  chownSync(path, CLI_USER.uid, CLI_USER.gid);
}

/** Gives a file or a tree to the CLIs' user. What is removed meanwhile, as a turn's leftovers are, needs no owner. */
export function giveToUser(path: string): void {
  try {
    lchownSync(path, CLI_USER.uid, CLI_USER.gid);
    if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) giveToUser(join(path, name));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
