/** What the system and its resolver call a connection that was not made, or that broke. */
const CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  // The socket of an engine that does not run.
  "ENOENT",
]);

/** Whether an engine was not reached at all: that does not show whether the sandbox runs. */
export function isUnreachable(fault: unknown): boolean {
  for (let error = fault; error instanceof Error; error = error.cause) {
    if ("code" in error && typeof error.code === "string" && CODES.has(error.code)) return true;
  }
  return false;
}
