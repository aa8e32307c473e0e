import { stat } from "node:fs/promises";
import type { RunAs } from "../process/run-as.ts";
import { findClosed } from "../process/user-files/find-closed.ts";
import { describeFault } from "../storage/describe-fault.ts";
import { makeDirectories } from "../storage/directories.ts";
import { SettingsError, type Settings } from "../settings.ts";

/**
 * Makes the state directory, and checks whether the CLIs' user can enter it and whether the other directories of the
 * settings can be directories.
 *
 * A directory of the CLIs' user that does not exist yet is no fault here: it is made later, or readiness reports it.
 * @throws {SettingsError} that names each wrong variable, its value and the reason
 */
export async function checkDirectories(values: Settings["values"], runAs: RunAs): Promise<void> {
  const faults = await Promise.all([
    findFault("TURND_STATE_DIR", values.TURND_STATE_DIR, async (path) => {
      await makeDirectories(path, 0o711);
      return (await stat(path)).isDirectory();
    }),
    findFault("TURND_HOME", values.TURND_HOME, isDirectoryOrMissing),
    findFault("TURND_WORKSPACE", values.TURND_WORKSPACE, isDirectoryOrMissing),
  ]);
  const found = faults.flatMap((fault) => fault ?? []);
  const closed = found.length === 0 ? await findClosed(values.TURND_STATE_DIR, runAs) : undefined;
  if (closed !== undefined) {
    const user = `uid ${runAs.uid}, which runs the CLIs (TURND_RUN_AS)`;
    found.push(`TURND_STATE_DIR is "${values.TURND_STATE_DIR}": ${user}, may not enter ${closed}`);
  }
  if (found.length > 0) throw new SettingsError(found);
}

async function findFault(
  variable: string,
  path: string,
  isDirectory: (path: string) => Promise<boolean>,
): Promise<string | undefined> {
  try {
    if (await isDirectory(path)) return undefined;
    return `${variable} is "${path}": must be a directory, and is a file`;
  } catch (error) {
    return `${variable} is "${path}": cannot be used as a directory: ${describeFault(error)}`;
  }
}

async function isDirectoryOrMissing(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return true;
    throw error;
  }
}
