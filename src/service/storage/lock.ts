import { spawnSync } from "node:child_process";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { asUnusable } from "./data-directory.ts";

/** Held for as long as the process runs, or until it is released. */
export interface Lock {
  release(): Promise<void>;
}

/** Another process has the data directory. */
export class DataDirectoryHeld extends Error {
  /** Who has it, as far as is known: `pid 123`. */
  readonly holder: string;
  constructor(path: string, holder: string) {
    super(`${path} is held by another process (${holder}): only one may open PGlite; stop it, or set DATABASE_URL`);
    this.name = "DataDirectoryHeld";
    this.holder = holder;
  }
}

const OPEN = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;

/**
 * Takes the kernel's lock on a file, which names its holder. It ends with the process, however that ends.
 *
 * @throws {DataDirectoryHeld} if another process holds it
 * @see flock(2); Node has no call for it, so flock(1) takes it on a descriptor it inherits from us
 */
export async function holdDataDirectory(path: string): Promise<Lock> {
  // Through no link: what it leads to would be emptied.
  const file = await open(path, OPEN, 0o600).catch((error: unknown) => {
    throw asUnusable(dirname(path), error);
  });
  const result = spawnSync("/usr/bin/flock", ["--nonblock", "--conflict-exit-code", "66", "3"], {
    stdio: ["ignore", "ignore", "pipe", file.fd],
    encoding: "utf8",
  });
  if (result.status === 0) {
    await file.truncate(0);
    await file.appendFile(`pid ${process.pid}\n`);
    return { release: () => file.close() };
  }
  const { buffer, bytesRead } = await file.read(Buffer.alloc(1024), 0, 1024, 0);
  await file.close();
  if (result.status === 66)
    throw new DataDirectoryHeld(path, buffer.toString("utf8", 0, bytesRead).trim() || "unknown");
  throw new Error(`flock failed on ${path}: ${result.error?.message ?? result.stderr}`);
}
