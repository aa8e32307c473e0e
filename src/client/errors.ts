/** turnd did not answer: no process listens, the connection broke, it answered 5xx, or it was silent for too long. */
export class TurndUnreachable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "TurndUnreachable";
  }
}

/** The answer does not follow turnd's contract: a gap in a turn's events, or a body of another shape. */
export class TurndProtocolError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "TurndProtocolError";
  }
}
