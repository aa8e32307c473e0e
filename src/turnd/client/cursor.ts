import { createSha256, type Sha256 } from "./sha256.ts";

/**
 * Where a reader of a turn's events stands.
 *
 * Its text is the last `seq`, and behind a `.` the state of the digest of everything up to it. With that a reader that goes on
 * after its own restart can still prove at the turn's end that it has read the whole of one history.
 */
export interface Position {
  readonly seq: number;
  /** Absent where the beginning was not read. */
  readonly digest: Sha256 | undefined;
}

/** @param after - a cursor, a `seq`, or undefined for the beginning. @throws {TypeError} for what is neither */
export function readPosition(after: string | number | undefined, isVerified: boolean): Position {
  const [, seqText, state] = /^(0|[1-9]\d{0,14})(?:\.([A-Za-z0-9_-]+))?$/.exec(String(after ?? 0)) ?? [];
  if (seqText === undefined) throw new TypeError(`not a cursor of a turn: ${JSON.stringify(after)?.slice(0, 100)}`);
  const seq = Number(seqText);
  if (!isVerified) return { seq, digest: undefined };
  if (state === undefined) return { seq, digest: seq === 0 ? createSha256() : undefined };
  return { seq, digest: readDigest(state) };
}

/** The text that {@link readPosition} reads. */
export function writePosition({ seq, digest }: Position): string {
  return digest === undefined || seq === 0 ? String(seq) : `${seq}.${writeDigest(digest)}`;
}

/** A digest that is continued. @throws {TypeError} */
export function readDigest(state: string): Sha256 {
  try {
    return createSha256(decode(state));
  } catch (error) {
    throw new TypeError("not a cursor: its digest cannot be read", { cause: error });
  }
}

/** The text that {@link readDigest} reads. */
export function writeDigest(digest: Sha256): string {
  return encode(digest.save());
}

/** URL-safe base64, which both platforms have only in parts. */
function encode(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

function decode(text: string): Uint8Array {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
}
