import { hash } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

/** What V8 has made of turnd's parts, kept beside them. */
export interface CompiledCode {
  /** @returns what was kept for this source by this Node; undefined where that is nothing, or damaged */
  take(name: string, source: Buffer): Buffer | undefined;
  /** Replaces what was kept. @throws what the system says */
  keep(name: string, source: Buffer, code: Buffer): void;
}

/** The directory of one version of Node, and the files in it. */
const LEVELS = 2;
const GROUP_OR_OTHERS_WRITE = 0o022;
/** V8 checks less than that: for the source its length, and of the code nothing. */
const DIGEST = "sha256";
const DIGEST_BYTES = 32;

/**
 * Opens the directory that compiled code is kept in.
 *
 * What lies in it is run as this process: another user who could write it would run as root. So it is used only where
 * the directory, the one that holds it, and everything in it belong to root or to this user, and no other user can
 * write it.
 * @param directory - made when the program is bundled
 * @returns why it is not used, where it is not
 */
export function openCompiledCode(directory: string): CompiledCode | string {
  try {
    const fault = findForeign(join(directory, ".."), 0) ?? findForeign(directory, LEVELS);
    if (fault !== undefined) return fault;
  } catch (error) {
    return describe(error);
  }
  const own = join(directory, `node-${process.version}-${process.arch}`);
  const digest = (source: Buffer, code: Buffer): Buffer =>
    Buffer.concat([hash(DIGEST, source, "buffer"), hash(DIGEST, code, "buffer")]);
  return {
    take(name, source) {
      const kept = readIfThere(join(own, basename(name)));
      if (kept === undefined) return undefined;
      const code = kept.subarray(2 * DIGEST_BYTES);
      return digest(source, code).equals(kept.subarray(0, 2 * DIGEST_BYTES)) ? code : undefined;
    },
    keep(name, source, code) {
      // Whatever the umask: an image's turnd may run as another user than the one that has built it.
      if (mkdirSync(own, { recursive: true }) !== undefined) chmodSync(own, 0o755);
      const path = join(own, basename(name));
      // One name per part: what a killed process has left is replaced by the next that keeps it. Where two write at
      // once, the digest finds what they have mixed.
      const unfinished = `${path}.unfinished`;
      try {
        writeFileSync(unfinished, Buffer.concat([digest(source, code), code]), { mode: 0o600 });
        chmodSync(unfinished, 0o644);
        renameSync(unfinished, path);
      } catch (error) {
        rmSync(unfinished, { force: true });
        throw error;
      }
    },
  };
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    // Missing, or not to be read: either way the code is compiled.
    return undefined;
  }
}

/** @param levels - how many levels below it are looked at too; nothing lies deeper */
function findForeign(path: string, levels: number): string | undefined {
  const found = lstatSync(path);
  if (found.isSymbolicLink()) return `${path} is a link`;
  if (found.uid !== 0 && found.uid !== process.geteuid?.()) return `${path} belongs to uid ${found.uid}`;
  if ((found.mode & GROUP_OR_OTHERS_WRITE) !== 0) return `others may write ${path}`;
  if (!found.isDirectory() || levels === 0) return undefined;
  for (const name of readdirSync(path)) {
    const foreign = findForeign(join(path, name), levels - 1);
    if (foreign !== undefined) return foreign;
  }
  return undefined;
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
