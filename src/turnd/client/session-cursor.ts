import { readDigest, writeDigest } from "./cursor.ts";
import { createSha256, type Sha256 } from "./sha256.ts";

/**
 * Where a reader of a session's events stands.
 *
 * Its text is `<turn_id>:<seq>`, as turnd names the event, and behind a `.` either the state of the turn's digest, as in the
 * cursor of a turn, or `end` where the turn has ended.
 */
export interface SessionPosition {
  readonly turnId: string;
  /** Of the last event that was read of that turn. */
  readonly seq: number;
  /** Absent where the turn's beginning was not read. */
  readonly digest: Sha256 | undefined;
  /** Undefined where it is unknown: a bare `<turn_id>:<seq>`. */
  readonly hasEnded: boolean | undefined;
}

const CURSOR = /^([A-Za-z0-9._:-]{1,64}):(0|[1-9]\d{0,14})(?:\.([A-Za-z0-9_-]+))?$/;
const ENDED = "end";

/** @param after - a cursor, the `id` of an event of the stream, or nothing for the beginning. @throws {TypeError} */
export function readSessionPosition(after: string | undefined, isVerified: boolean): SessionPosition | undefined {
  if (after === undefined || after === "") return undefined;
  const [, turnId, seqText, state] = CURSOR.exec(after) ?? [];
  if (turnId === undefined) throw new TypeError(`not a cursor of a session: ${JSON.stringify(after).slice(0, 100)}`);
  const place = { turnId, seq: Number(seqText) };
  if (state === ENDED) return { ...place, digest: undefined, hasEnded: true };
  if (state === undefined) return { ...place, digest: undefined, hasEnded: undefined };
  return { ...place, digest: isVerified ? readDigest(state) : undefined, hasEnded: false };
}

/** The text that {@link readSessionPosition} reads. */
export function writeSessionPosition(position: SessionPosition | undefined): string {
  if (position === undefined) return "";
  const { turnId, seq, digest, hasEnded } = position;
  const state = hasEnded === true ? `.${ENDED}` : digest === undefined ? "" : `.${writeDigest(digest)}`;
  return `${turnId}:${seq}${state}`;
}

/** Where a turn begins that was not read yet. */
export function beginTurn(turnId: string, isVerified: boolean): SessionPosition {
  return { turnId, seq: 0, digest: isVerified ? createSha256() : undefined, hasEnded: false };
}
