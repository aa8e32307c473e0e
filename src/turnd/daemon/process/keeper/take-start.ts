import { open } from "node:fs/promises";
import { join } from "node:path";

/**
 * Makes sure that no keeper starts the command of a turn any more, by making its `started`. Law: at most once.
 *
 * @returns false where a keeper was first
 */
export async function takeStart(directory: string): Promise<boolean> {
  try {
    await (await open(join(directory, "started"), "wx", 0o600)).close();
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}
