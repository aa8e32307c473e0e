import type { PGlite } from "@electric-sql/pglite";

/** Whether PGlite has ended by itself, and of what. */
export interface PgliteEnd {
  readonly fault: () => Error | undefined;
}

/**
 * Notices that PGlite has ended: where its write-ahead log cannot be written, as on a full disk, it ends with a PANIC, and the next
 * query would hold the event loop for ever. From then on each query fails with that error, at once.
 * Law: every wait is bounded.
 */
export function watchForEnd(pglite: PGlite, onEnd: (fault: Error) => void): PgliteEnd {
  let fault: Error | undefined;
  const send = pglite.execProtocolStream.bind(pglite);
  // Every query of every caller comes through here.
  pglite.execProtocolStream = async (...given) => {
    if (fault !== undefined) throw fault;
    try {
      return await send(...given);
    } catch (error) {
      if (fault === undefined && hasEnded(error)) {
        fault = error;
        onEnd(error);
      }
      throw error;
    }
  };
  return { fault: () => fault };
}

function hasEnded(error: unknown): error is Error {
  return error instanceof Error && "severity" in error && (error.severity === "PANIC" || error.severity === "FATAL");
}
