import { z } from "zod";
import { ProblemError } from "../../../protocol/index.ts";
import type { SessionPlace, TurnPlace } from "../../state-index/state-index.ts";

const TurnCursor = z.tuple([z.literal("turn"), z.int().nonnegative(), z.string()]);
const SessionCursor = z.tuple([z.literal("session"), z.string(), z.string()]);

/** What a client comes back with for the next page of turns. It names a place, and stays good whatever is added or deleted. */
export function writeTurnCursor({ place, turnId }: TurnPlace): string {
  return encode(["turn", place, turnId]);
}

/** @throws {ProblemError} bad_cursor */
export function readTurnCursor(cursor: string): TurnPlace {
  const [, place, turnId] = decode(TurnCursor, cursor);
  return { place, turnId };
}

/** The same for sessions. */
export function writeSessionPageCursor({ createdAt, sessionId }: SessionPlace): string {
  return encode(["session", createdAt, sessionId]);
}

/** @throws {ProblemError} bad_cursor */
export function readSessionPageCursor(cursor: string): SessionPlace {
  const [, createdAt, sessionId] = decode(SessionCursor, cursor);
  return { createdAt, sessionId };
}

function encode(place: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

function decode<T>(shape: z.ZodType<T>, cursor: string): T {
  try {
    return shape.parse(JSON.parse(Buffer.from(cursor, "base64url").toString("utf8")));
  } catch {
    const got = JSON.stringify(cursor.slice(0, 100));
    const message = `cursor must be the next_cursor of an earlier page of this list, got ${got}`;
    throw new ProblemError("bad_cursor", message);
  }
}
