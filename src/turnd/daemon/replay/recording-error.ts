import type { z } from "zod";

/** A recording that cannot be read; the message says where it is wrong and how. */
export class RecordingError extends Error {
  readonly path: string;
  readonly reason: string;

  constructor(path: string, reason: string) {
    super(`${path}: ${reason}`);
    this.name = "RecordingError";
    this.path = path;
    this.reason = reason;
  }
}

/** The same fault as a person knows its place: below what they named, and not where that was unpacked to. */
export function nameFault<E>(error: E, directory: string, shown: string): E | RecordingError {
  if (!(error instanceof RecordingError) || directory === shown) return error;
  const isBelow = error.path === directory || error.path.startsWith(`${directory}/`);
  return isBelow ? new RecordingError(shown + error.path.slice(directory.length), error.reason) : error;
}

/** What does not fit a schema, in one line: each field and what is wrong with it. */
export function describeIssues(error: z.ZodError, parent: readonly PropertyKey[] = []): string {
  return error.issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => {
      const field = [...parent, ...path].map(String).join(".");
      return field === "" ? message : `${field}: ${message}`;
    })
    .join("; ");
}

const MAX_ISSUES = 5;
