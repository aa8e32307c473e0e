import { randomBytes } from "node:crypto";
import { chmod, link, rm, writeFile } from "node:fs/promises";

/**
 * Makes the administrator's password, once, in a file that only its owner can read.
 *
 * Whole or not at all: a start that is killed in the middle leaves no empty password to the next one.
 * @returns whether the file was made now
 */
export async function makePassword(path: string): Promise<boolean> {
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${randomBytes(18).toString("base64url")}\n`, { flag: "w", mode: 0o600 });
  try {
    await chmod(draft, 0o600);
    await link(draft, path);
    return true;
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "EEXIST") throw error;
    // The service closes a file that is open to others, and logs it.
    return false;
  } finally {
    await rm(draft, { force: true });
  }
}
