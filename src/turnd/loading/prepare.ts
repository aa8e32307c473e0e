import { lstatSync } from "node:fs";
import { enableCompileCache, flushCompileCache } from "node:module";
import { dirname, join } from "node:path";
import { setFlagsFromString } from "node:v8";
import type { Host } from "../commands/host.ts";

/** V8's flags until there is work, and from then on. */
const HELD = ["--no-turbofan", "--no-sparkplug"] as const;
const LET_GO = ["--turbofan", "--sparkplug"] as const;
/** V8 waits for 3000 calls of a function before it optimises it, and few turns have so many lines. */
const EARLIER = "--invocation-count-for-turbofan=600";
export const FLAGS = [...HELD, ...LET_GO, EARLIER] as const;

/** Its first answers are compiled by then, and belong to what is kept. */
const KEEP_AFTER_MS = 2_000;
const GROUP_OR_OTHERS_WRITE = 0o022;
const GROUP_OR_OTHERS = 0o077;

/**
 * Prepares V8 for `turnd serve`, before its program is loaded: compiled code comes from Node's compile cache in `cache/`,
 * and the optimising compilers, which a waiting turnd would pay 8 MiB for, begin with the first work.
 *
 * Other commands use neither: what they compile would be taken for all that a start needs.
 * @param args - of the command line
 * @param directory - of the main file
 */
export function prepareV8(
  [command = "serve", ...args]: readonly string[],
  directory: string,
): Pick<Host, "onListening" | "onWork" | "whyNoCompiledCode"> {
  const isHelp = [command, ...args].some((word) => /^(?:-h|--help|-V|--version)$/.test(word));
  if (isHelp || (command !== "serve" && !command.startsWith("-"))) return {};
  for (const flag of [...HELD, EARLIER]) setFlagsFromString(flag);
  const whyNoCompiledCode = useCompileCache(join(directory, "cache"));
  return {
    onWork: letGoOnce(),
    ...(whyNoCompiledCode === undefined
      ? { onListening: () => void setTimeout(flushCompileCache, KEEP_AFTER_MS).unref() }
      : { whyNoCompiledCode }),
  };
}

/**
 * Lets Node take compiled code from a directory, and keep it there.
 *
 * Node runs what lies in it as this process, and checks only that it fits the source: another user who could write it would
 * run as root. So the directory is this user's or root's, closed to all others, in one that no other user can write.
 * @param directory - made when the program is bundled
 * @returns why it is not used; undefined where it is
 */
export function useCompileCache(directory: string): string | undefined {
  try {
    const fault = findFault(dirname(directory), GROUP_OR_OTHERS_WRITE) ?? findFault(directory, GROUP_OR_OTHERS);
    if (fault !== undefined) return fault;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return enableCompileCache(directory).message;
}

function findFault(path: string, forbidden: number): string | undefined {
  const found = lstatSync(path);
  if (!found.isDirectory()) return `${path} is no directory`;
  if (found.uid !== 0 && found.uid !== process.geteuid?.()) return `${path} belongs to uid ${found.uid}`;
  return (found.mode & forbidden) === 0 ? undefined : `${path} is open to other users`;
}

function letGoOnce(): () => void {
  let isHeld = true;
  return () => {
    if (isHeld) for (const flag of LET_GO) setFlagsFromString(flag);
    isHeld = false;
  };
}
