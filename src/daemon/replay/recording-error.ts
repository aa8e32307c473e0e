import type { z } from "zod";

/** A recording that cannot be read; the message says where it is wrong and how. */
export class RecordingError extends Error {
  constructor(path: string, reason: string) {
    super(`${path}: ${reason}`);
    this.name = "RecordingError";
  }
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
