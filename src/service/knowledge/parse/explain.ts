import { ParseFailed } from "./failures.ts";

/** Words of V8 (it may die while it still prints which collections it tried) and the system for memory that was not there. */
const MEMORY =
  /out of memory|last few GCs|mark-compact|allocation failed|cannot allocate|invalid (string|array|typed array) length|cannot create a string longer/i;

/** What an error that a library threw means for the document. */
export function explainError(error: unknown): ParseFailed {
  if (error instanceof ParseFailed) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (/maximum call stack/i.test(message)) return new ParseFailed("too_deep", message, { cause: error });
  if (MEMORY.test(message)) return new ParseFailed("parser_memory", message, { cause: error });
  // Nothing that a library throws is a fault of ours unless the document brought it about.
  return new ParseFailed("corrupt", message, { cause: error });
}

/** How a child ended that was not ended by us. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The beginning of its stderr. */
  readonly stderr: string;
  /** Whether it was busy for as long as it may use the processor. */
  readonly wasBusyToTheEnd: boolean;
  /** Whether it had most of the memory that it may have; V8 ends in many ways when it gets no more. */
  readonly wasLarge: boolean;
}

/** What the end of a child means for the document that it had. */
export function explainEnd({ code, signal, stderr, wasBusyToTheEnd, wasLarge }: ChildEnd): ParseFailed {
  const how = signal === null ? `exit code ${code}` : signal;
  if (signal === "SIGXCPU" || (signal === "SIGKILL" && wasBusyToTheEnd)) {
    return new ParseFailed("parser_timeout", `the parser used up its processor time (${how})`);
  }
  // The kernel kills what takes too much.
  if (MEMORY.test(stderr) || signal === "SIGKILL" || wasLarge)
    return new ParseFailed("parser_memory", `the parser ran out of memory (${how})`);
  return new ParseFailed("parser_crashed", `the parser ended with ${how}: ${stderr.trim().slice(0, 300)}`);
}
