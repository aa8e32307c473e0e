import { constants } from "node:fs";
import { access, open, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

/** A place where a native binary may be, seen from a `node_modules` directory. */
export interface NativeCandidate {
  readonly path: string;
  /** A CPU feature as /proc/cpuinfo spells it. */
  readonly needs?: string;
}

/** A program that can be started, or one sentence with the reason why there is none. */
export type FoundProgram =
  | {
      readonly ok: true;
      readonly path: string;
      /** A warning: it runs, but not as well as another one would. */
      readonly warning?: string;
    }
  | { readonly ok: false; readonly reason: string };

export interface FindOptions {
  /** Looked up on `searchPath`, unless `explicit` gives a file by its path. */
  readonly name: string;
  readonly explicit?: string;
  readonly searchPath: string;
  /** Tried beside a file that is a script. */
  readonly native: readonly NativeCandidate[];
}

/**
 * Finds a program's native binary.
 *
 * A file that starts with `#!` is the Node wrapper of an npm package, which loses signals and exit codes: the platform
 * package beside it is taken instead.
 * @see docs/contracts/cli-a.md §10, docs/contracts/cli-b.md §0
 */
export async function findProgram(options: FindOptions): Promise<FoundProgram> {
  const found = options.explicit ?? (await findOnPath(options.name, options.searchPath));
  if (found === undefined) return { ok: false, reason: `"${options.name}" is not on PATH` };
  const fault = await findFileFault(found);
  if (fault !== undefined) return { ok: false, reason: `${found} ${fault}` };
  const path = await realpath(found);
  const interpreter = await readInterpreter(path);
  // A script given as an explicit path is used as it is; beside Node's wrapper the native binary is preferred.
  const isWrapper = options.explicit === undefined ? interpreter !== undefined : /\bnode\b/.test(interpreter ?? "");
  if (!isWrapper) return { ok: true, path };
  const native = await findBeside(path, options.native);
  if (native !== undefined) return { ok: true, path: native };
  const reason = `${found} is a script and no native package lies beside it`;
  if (options.explicit === undefined) return { ok: false, reason };
  const warning = `${reason}: it is run as it is; a Node wrapper loses signals and exit codes of the CLI it starts`;
  return { ok: true, path, warning };
}

async function findOnPath(name: string, searchPath: string): Promise<string | undefined> {
  for (const directory of searchPath.split(":")) {
    const path = join(directory, name);
    if (directory !== "" && (await isExecutable(path))) return path;
  }
  return undefined;
}

async function findBeside(script: string, candidates: readonly NativeCandidate[]): Promise<string | undefined> {
  const cpu = await readFile("/proc/cpuinfo", "utf8");
  const usable = candidates.filter(({ needs }) => needs === undefined || new RegExp(`\\b${needs}\\b`).test(cpu));
  for (let directory = dirname(script); directory !== dirname(directory); directory = dirname(directory)) {
    for (const candidate of usable) {
      const path = join(directory, "node_modules", candidate.path);
      if (await isExecutable(path)) return path;
    }
  }
  return undefined;
}

/** The interpreter after `#!`; undefined for a binary. */
async function readInterpreter(path: string): Promise<string | undefined> {
  // Does not wait for a pipe that replaced the file meanwhile.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined);
  // A file that may be executed but not read is no script: its interpreter could not read it either.
  if (file === undefined) return undefined;
  try {
    if (!(await file.stat()).isFile()) return undefined;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(256), 0, 256, 0);
    return /^#!([^\n]*)/.exec(buffer.toString("latin1", 0, bytesRead))?.[1];
  } finally {
    await file.close();
  }
}

async function isExecutable(path: string): Promise<boolean> {
  return (await findFileFault(path)) === undefined;
}

/** Why a file cannot be a program; undefined when it can. */
async function findFileFault(path: string): Promise<string | undefined> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) return "is a directory, not a program";
    // Opening a pipe or a device to read its head could block for ever.
    if (!found.isFile()) return "is not a regular file";
    await access(path, constants.X_OK);
    return undefined;
  } catch {
    return "is missing or not executable";
  }
}
