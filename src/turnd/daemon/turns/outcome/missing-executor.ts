/** A turn or session on the disk is of an executor that this turnd does not have; one with more executors made it. */
export class MissingExecutorError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "MissingExecutorError";
  }
}
