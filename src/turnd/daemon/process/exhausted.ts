/**
 * No program can be started: the system has no process, memory or descriptor left. Nothing is wrong with the program.
 */
export class ResourcesExhaustedError extends Error {
  constructor(what: string) {
    super(`No process could be started: ${what}.`);
    this.name = "ResourcesExhaustedError";
  }
}

/** What each error code of fork(2), and of what belongs to it, means. */
const EXHAUSTED: Readonly<Record<string, string>> = {
  EAGAIN: "the sandbox has reached its limit of processes",
  ENOMEM: "there is no memory left",
  EMFILE: "turnd has reached its limit of open files",
  ENFILE: "the system has reached its limit of open files",
};

/** Whether an error code says that the system has no resources left for now. */
export function isExhaustedCode(code: unknown): boolean {
  return typeof code === "string" && code in EXHAUSTED;
}

/**
 * Throws where a program could not be started for lack of resources.
 *
 * @param code - error code of the failed start, if it failed
 * @throws {ResourcesExhaustedError}
 */
export function throwIfExhausted(code: string | undefined): void {
  const what = code === undefined ? undefined : EXHAUSTED[code];
  if (what !== undefined) throw new ResourcesExhaustedError(what);
}
