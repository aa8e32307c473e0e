import { ProblemError } from "../../protocol/index.ts";

/** One part of a file: `first` is the offset of its first byte. */
export interface ByteRange {
  readonly first: number;
  readonly length: number;
}

const RANGE = /^bytes=(\d*)-(\d*)$/i;
const STRONG_ETAG = /^"([0-9a-f.-]{1,120})"$/;

/**
 * The part that a request asks for; undefined for the whole file. Several ranges, and what is no range, are ignored.
 *
 * @throws {ProblemError} range_not_satisfiable
 * @see RFC 9110 §14
 */
export function readRange(header: string | undefined, size: number): ByteRange | undefined {
  const [, from = "", to = ""] = RANGE.exec(header?.trim() ?? "") ?? [];
  if (from === "" && to === "") return undefined;
  const isSuffix = from === "";
  const first = isSuffix ? Math.max(0, size - Number(to)) : Number(from);
  const last = isSuffix || to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if (!isSuffix && to !== "" && Number(to) < first) return undefined;
  if (first >= size || last < first) {
    throw new ProblemError("range_not_satisfiable", `the file has ${size} bytes, and the range begins behind them`);
  }
  return { first, length: last - first + 1 };
}

/** Whether a list of ETags, or `*`, names this one. Weak ETags are compared as they are where `isWeak` is set. */
export function namesEtag(header: string, etag: string, { isWeak }: { readonly isWeak: boolean }): boolean {
  const given = header.split(",").map((part) => part.trim());
  return given.includes("*") || given.some((part) => (isWeak ? part.replace(/^W\//, "") : part) === etag);
}

interface ChangeHeaders {
  readonly "if-match"?: string | undefined;
  readonly "if-none-match"?: string | undefined;
}

/**
 * What has to be true of what is at a path for it to be changed.
 *
 * @throws {ProblemError} invalid_request, precondition_failed for an ETag that no file has
 */
export function readCondition({ "if-match": match, "if-none-match": noneMatch }: ChangeHeaders): {
  isAbsent?: boolean;
  version?: string;
} {
  if (noneMatch !== undefined && noneMatch.trim() !== "*") throw refuse("if-none-match", "only * is allowed here");
  if (noneMatch !== undefined && match !== undefined) throw refuse("if-match", "not together with If-None-Match");
  if (noneMatch !== undefined) return { isAbsent: true };
  if (match === undefined) return {};
  if (match.includes(",")) throw refuse("if-match", "one ETag, or *");
  if (match.trim() === "*") return { version: "*" };
  const version = STRONG_ETAG.exec(match.trim())?.[1];
  if (version === undefined) throw new ProblemError("precondition_failed", "no file has the ETag that If-Match names");
  return { version };
}

function refuse(header: string, message: string): ProblemError {
  const path = `header.${header}`;
  return new ProblemError("invalid_request", `${path}: ${message}`, { fields: [{ path, message }] });
}
