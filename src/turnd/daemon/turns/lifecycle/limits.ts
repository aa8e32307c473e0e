/** Bounds of a turn; times in milliseconds, 0 switches a timeout off. Source: docs/reference.md. */
export interface TurnLimits {
  readonly maxTurns: number;
  readonly maxQueued: number;
  readonly turnTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly startTimeoutMs: number;
  readonly exitTimeoutMs: number;
  readonly cancelGraceMs: number;
  readonly shutdownMs: number;
  readonly steerWaitMs: number;
  readonly maxOutputBytes: number;
  readonly maxLineBytes: number;
  /** How long a server may take to answer. */
  readonly answerMs: number;
  /** How long a person has to answer. */
  readonly approvalMs: number;
  /** Of what a tool prints while it runs. */
  readonly maxToolOutputBytes: number;
  /** On the disk of the state directory, below which no turn is let in. */
  readonly minFreeBytes: number;
}
