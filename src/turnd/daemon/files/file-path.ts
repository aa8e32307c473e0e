import { isUtf8 } from "node:buffer";
import { ProblemError } from "../../protocol/index.ts";

/** A path below a workspace: bytes, since a name need not be UTF-8. */
export interface WorkspacePath {
  /** Names, with `/` between; empty for the workspace itself. */
  readonly bytes: Buffer;
  /** Whether it was written with a `/` at its end. */
  readonly namesDirectory: boolean;
}

/** Of the system: longest name, and longest path that turnd passes on. */
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 4_000;
const SLASH = 0x2f;
/** What stands for itself in a path. @see RFC 3986 §2.3 */
const UNRESERVED = /^[A-Za-z0-9._~-]$/;

/**
 * Reads the path of a URL as it was sent.
 *
 * @param encoded - what follows `/files/`, percent-encoded
 * @throws {ProblemError} invalid_path
 */
export function readPath(encoded: string): WorkspacePath {
  const namesDirectory = encoded === "" || encoded.endsWith("/");
  const parts = encoded === "" ? [] : encoded.replace(/\/$/, "").split("/").map(readName);
  const bytes = joinNames(parts);
  if (bytes.length > MAX_PATH_BYTES) throw refuse(`it is longer than ${MAX_PATH_BYTES} bytes`);
  return { bytes, namesDirectory };
}

function readName(part: string): Buffer {
  if (/%(?![0-9A-Fa-f]{2})/.test(part)) throw refuse("it is not properly percent-encoded");
  const name = Buffer.from(
    part.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
  if (name.length === 0) throw refuse("a part of it is empty");
  if (name.length > MAX_NAME_BYTES) throw refuse(`a part of it is longer than ${MAX_NAME_BYTES} bytes`);
  if (name.includes(SLASH)) throw refuse("no name can hold a /, written as %2F");
  if (name.includes(0)) throw refuse("no name can hold a zero byte");
  const text = name.toString("latin1");
  if (text === "." || text === "..") throw refuse("`.` and `..` lead nowhere: name the entry itself");
  return name;
}

function refuse(reason: string): ProblemError {
  return new ProblemError("invalid_path", `the path cannot be used: ${reason}`);
}

function joinNames(names: readonly Buffer[]): Buffer {
  const slash = Buffer.from([SLASH]);
  return Buffer.concat(names.flatMap((name, index) => (index === 0 ? [name] : [slash, name])));
}

/** The path of an entry of a directory. */
export function pathBelow(directory: Buffer, name: Buffer): Buffer {
  return directory.length === 0 ? name : joinNames([directory, name]);
}

/** The last name of a path. */
export function lastName(path: Buffer): Buffer {
  return path.subarray(path.lastIndexOf(SLASH) + 1);
}

/** As a URL has it. */
export function encodePath(path: Buffer): string {
  return encodeBytes(path, (character) => character === "/" || UNRESERVED.test(character));
}

/** For people; what is not UTF-8 becomes U+FFFD. */
export function showName(name: Buffer): string {
  return name.toString("utf8");
}

/**
 * As a zip has it: UTF-8, with only `/` between names. Bytes that are no UTF-8, control characters, `\` and what
 * Windows takes for a drive are percent-encoded; so is `%` then, so that two names stay two.
 */
export function zipName(path: Buffer): string {
  const text = path.toString("utf8");
  // eslint-disable-next-line no-control-regex -- these are what has to be written otherwise
  if (isUtf8(path) && !/[\u0000-\u001f\u007f\\]|^[A-Za-z]:/.test(text)) return text;
  return encodeBytes(path, (character) => /^[ -~]$/.test(character) && !/[%\\:]/.test(character));
}

function encodeBytes(bytes: Buffer, isKept: (character: string) => boolean): string {
  return [...bytes]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return isKept(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    })
    .join("");
}
