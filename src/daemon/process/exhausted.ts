/** No program can be started: the system has no process, memory or descriptor left to give. Nothing is wrong with the program. */
export class ResourcesExhaustedError extends Error {
  constructor(what: string) {
    super(`No process could be started: ${what}.`);
    this.name = "ResourcesExhaustedError";
  }
}

/** What the system says where fork(2) or what belongs to it fails. */
const EXHAUSTED: Readonly<Record<string, string>> = {
  EAGAIN: "the sandbox has as many processes as it may",
  ENOMEM: "there is no memory left",
  EMFILE: "turnd has as many files open as it may",
  ENFILE: "the system has as many files open as it may",
};

/** Whether an error's code says that the system has nothing left to give for now. */
export function isExhaustedCode(code: unknown): boolean {
  return typeof code === "string" && code in EXHAUSTED;
}

/**
 * Throws where a program could not be started for want of something that others have taken.
 *
 * @param code - of the error with which its start failed, if it did
 * @throws {ResourcesExhaustedError}
 */
export function throwIfExhausted(code: string | undefined): void {
  const what = code === undefined ? undefined : EXHAUSTED[code];
  if (what !== undefined) throw new ResourcesExhaustedError(what);
}
