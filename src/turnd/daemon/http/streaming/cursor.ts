import { ProblemError } from "../../../protocol/index.ts";
import type { SessionCursor } from "../../turns/turn-service.ts";

/**
 * The event of a session's stream after which a client wants to read; undefined for all.
 *
 * @throws {ProblemError} bad_cursor
 */
export function readSessionCursor(
  header: string | string[] | undefined,
  query: string | undefined,
): SessionCursor | undefined {
  const [name, value] = header === undefined ? ["after", query] : ["Last-Event-ID", header];
  if (value === undefined) return undefined;
  const [, turnId, seq] = (typeof value === "string" ? /^([A-Za-z0-9._:-]{1,64}):(\d{1,15})$/.exec(value) : null) ?? [];
  if (turnId === undefined) {
    const got = JSON.stringify(String(value).slice(0, 100));
    throw new ProblemError("bad_cursor", `${name} must be <turn_id>:<seq>, got ${got}`);
  }
  return { turnId, seq: Number(seq) };
}

/**
 * The `seq` after which a client wants to read, 0 for all.
 *
 * @param header - Last-Event-ID: an EventSource sends it when it reconnects, so it wins over the URL it began with
 * @throws {ProblemError} bad_cursor
 */
export function readCursor(header: string | string[] | undefined, query: string | undefined): number {
  return readNumber(header, { name: "after_seq", value: query }, "the seq of an event or 0");
}

/**
 * The offset from which a client wants a shell's output, 0 for all.
 *
 * @throws {ProblemError} bad_cursor
 */
export function readOffset(header: string | string[] | undefined, query: string | undefined): number {
  return readNumber(header, { name: "after", value: query }, "an offset in bytes");
}

function readNumber(
  header: string | string[] | undefined,
  query: { readonly name: string; readonly value: string | undefined },
  meaning: string,
): number {
  const { name, value } = header === undefined ? query : { name: "Last-Event-ID", value: header };
  if (value === undefined) return 0;
  const number = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
  if (number === undefined) {
    const got = JSON.stringify(String(value).slice(0, 100));
    throw new ProblemError("bad_cursor", `${name} must be ${meaning}, got ${got}`);
  }
  return number;
}
