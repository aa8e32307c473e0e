import { constants } from "node:fs";
import {
  chmod,
  copyFile,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  readlink,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";

/** Native binaries that the CLIs' user can execute. */
export interface Clis {
  readonly binaries: { readonly "cli-a": string; readonly "cli-b": string; readonly [id: string]: string | undefined };
  /** Holds `rg`, which CLI A looks up on PATH; it comes with CLI B's package. */
  readonly toolsDirectory: string;
}

export interface ProvideOptions {
  /** Where package trees are put when the user cannot reach the installed ones; that user must be able to enter it. */
  readonly directory: string;
  readonly uid: number;
  readonly gid: number;
  /** The repository, for a program that is not in it as this file is. */
  readonly root?: string;
}

const ROOT = dirname(import.meta.dirname);
const VENDOR = "vendor/x86_64-unknown-linux-musl";
const CLI_A_PROGRAM = "bin/opencode";
const CLI_B_PROGRAM = `${VENDOR}/bin/codex`;

/**
 * Provides both CLIs to a user, in the versions of the image (`sandbox/package.json`).
 *
 * Where a folder above them is closed to that user, as in a clone below a directory of mode 0700, the package trees are
 * linked or copied whole: CLI B finds its sandbox helper beside itself.
 * @throws if a package is not installed
 */
export async function provideClis({ directory, uid, gid, root = ROOT }: ProvideOptions): Promise<Clis> {
  const reach = (name: string): Promise<string> =>
    provideTree(join(root, "sandbox/node_modules", name), directory, { uid, gid });
  const cliA = await reach(`opencode-linux-x64${await buildOfCliA()}`);
  const cliB = await reach("codex-linux-x64");
  return {
    binaries: { "cli-a": join(cliA, CLI_A_PROGRAM), "cli-b": join(cliB, CLI_B_PROGRAM) },
    toolsDirectory: join(cliB, VENDOR, "codex-path"),
  };
}

/**
 * Provides one other version of a CLI to a user.
 *
 * @param packages - where it is installed, by its name and version
 * @returns its native binary
 * @throws if that version is not pinned there, or not installed
 */
export async function provideVersion(
  cli: "opencode" | "codex",
  version: string,
  { directory, uid, gid }: ProvideOptions,
  packages = join(ROOT, "sandbox/versions"),
): Promise<string> {
  const name = cli === "opencode" ? `opencode-${version}${await buildOfCliA()}` : `codex-${version}`;
  const tree = await provideTree(join(packages, "node_modules", name), directory, { uid, gid });
  return join(tree, cli === "opencode" ? CLI_A_PROGRAM : CLI_B_PROGRAM);
}

interface User {
  readonly uid: number;
  readonly gid: number;
}

const Manifest = z.object({ name: z.string(), version: z.string() });

/**
 * Provides one package tree to a user: in place where that user can reach it, otherwise linked or copied below a directory.
 *
 * @returns where the user finds it
 */
export async function provideTree(tree: string, directory: string, user: User): Promise<string> {
  const manifest = Manifest.parse(JSON.parse(await readManifest(tree)));
  if (await canUse(tree, user)) return tree;
  const target = join(directory, "clis", `${manifest.name.replaceAll("/", "-")}-${manifest.version}`);
  if (await exists(target)) return target;
  await makeOpenDirectory(join(directory, "clis"));
  // Another process may do the same: the first rename wins, and both trees are equal.
  const draft = await mkdtemp(`${target}.`);
  await cloneTree(tree, draft);
  try {
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!(await exists(target))) throw error;
  }
  return target;
}

async function readManifest(tree: string): Promise<string> {
  return readFile(join(tree, "package.json"), "utf8").catch((error: unknown) => {
    throw new Error(`${tree} is not installed: run \`node scripts/setup.mjs --tests\``, { cause: error });
  });
}

/** Whether a user can enter every folder down to a tree and use what is in it. */
async function canUse(tree: string, user: User): Promise<boolean> {
  for (let folder = tree; ; folder = dirname(folder)) {
    if (!allows(await stat(folder), user, 1)) return false;
    if (folder === "/") break;
  }
  for (const entry of await readdir(tree, { withFileTypes: true, recursive: true })) {
    if (entry.isSymbolicLink()) continue;
    if (!allows(await stat(join(entry.parentPath, entry.name)), user, entry.isDirectory() ? 5 : 4)) return false;
  }
  return true;
}

/** @param wanted - bits of one digit of a mode: 4 to read, 1 to execute or enter */
function allows(file: { mode: number; uid: number; gid: number }, user: User, wanted: number): boolean {
  if (user.uid === 0) return true;
  const shift = file.uid === user.uid ? 6 : file.gid === user.gid ? 3 : 0;
  return ((file.mode >> shift) & wanted) === wanted;
}

async function cloneTree(from: string, to: string): Promise<void> {
  await makeOpenDirectory(to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await cloneTree(source, target);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else await cloneFile(source, target);
  }
}

/** A hard link costs nothing but has the mode of the original, which a strict umask may have closed to others. */
async function cloneFile(source: string, target: string): Promise<void> {
  const { mode } = await stat(source);
  const open = mode & 0o100 ? 0o755 : 0o644;
  if ((mode & 0o777 & open) === open) {
    const isLinked = await link(source, target).then(
      () => true,
      () => false, // Another file system, or one without hard links.
    );
    if (isLinked) return;
  }
  await copyFile(source, target, constants.COPYFILE_FICLONE);
  await chmod(target, open);
}

async function makeOpenDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  // mkdir has applied the umask.
  await chmod(path, 0o755);
}

/** The usual build of CLI A needs AVX2 and crashes with an illegal instruction without. */
async function buildOfCliA(): Promise<"" | "-baseline"> {
  return /\bavx2\b/.test(await readFile("/proc/cpuinfo", "utf8")) ? "" : "-baseline";
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
