/** What the system says of a disk that is full, read-only or broken, and of files that are not what turnd had made of them. */
const CODES = new Set(
  (
    "ENOSPC EDQUOT EROFS EIO EFBIG EACCES EPERM ENOENT ENOTDIR EISDIR ENOTEMPTY ELOOP ENXIO ENODEV ESTALE ESPIPE " +
    "EUCLEAN EBADMSG ENOTREG"
  ).split(" "),
);

/** Whether an error is of the files that turnd works with: the disk's doing, or of who changed what lies there. */
export function isStorageError(error: unknown): error is Error {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return false;
  // A program that is not there is another matter.
  const isSpawn = "syscall" in error && typeof error.syscall === "string" && error.syscall.startsWith("spawn");
  return CODES.has(error.code) && !isSpawn;
}

/** Whether an error means that there is no room left. */
export function isFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}
