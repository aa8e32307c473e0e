import { constants } from "node:os";

/** Error codes of a full, read-only or broken disk, and of files that are not as turnd left them. */
const CODES = new Set(
  (
    "ENOSPC EDQUOT EROFS EIO EFBIG EACCES EPERM ENOENT ENOTDIR EISDIR ENOTEMPTY ELOOP ENXIO ENODEV ESTALE ESPIPE " +
    "EUCLEAN EBADMSG EREMOTEIO ENOTREG"
  ).split(" "),
);

/**
 * Errors of quotas, network disks and damaged file systems, which Node names "Unknown system error -122" and the like.
 */
const UNNAMED = new Map([
  [constants.errno.EDQUOT, "EDQUOT"],
  [constants.errno.ESTALE, "ESTALE"],
  [constants.errno.EBADMSG, "EBADMSG"],
  // On Linux; Node has no constant for it.
  [117, "EUCLEAN"],
]);

/** Whether an error is about the files that turnd works with: the disk failed, or another process changed them. */
export function isStorageError(error: unknown): error is Error {
  if (!(error instanceof Error) || !CODES.has(codeOf(error) ?? "")) return false;
  // A missing program is another matter.
  const isSpawn = "syscall" in error && typeof error.syscall === "string" && error.syscall.startsWith("spawn");
  return !isSpawn;
}

/** Whether an error means that no room is left. */
export function isFull(error: unknown): boolean {
  const code = error instanceof Error ? codeOf(error) : undefined;
  return code === "ENOSPC" || code === "EDQUOT";
}

function codeOf(error: Error): string | undefined {
  const unnamed = "errno" in error && typeof error.errno === "number" ? UNNAMED.get(-error.errno) : undefined;
  if (unnamed !== undefined) return unnamed;
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}
