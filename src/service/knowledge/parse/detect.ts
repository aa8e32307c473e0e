import { ParseFailed } from "./failures.ts";
import { extensionOf, KNOWN_TYPES, type KnownType } from "./types.ts";
import { chooseEncoding } from "./text-encoding.ts";

/** What a document is. `name` is the key of `KNOWN_TYPES` whose parser reads it, by content. */
export interface Detected extends KnownType {
  readonly name: string;
}

const CFB = Buffer.from("d0cf11e0a1b11ae1", "hex");
/** A member, an archive without members, one in parts. */
const ZIPS: readonly string[] = ["PK\x03\x04", "PK\x05\x06", "PK\x07\x08"];
const SAMPLE = 4_096;
/** Names of streams in a compound file, as UTF-16. */
const STREAMS: readonly (readonly [stream: string, name: string])[] = [
  ["EncryptedPackage", "encrypted"],
  ["WordDocument", "doc"],
  ["PowerPoint Document", "ppt"],
  ["Workbook", "xls"],
  ["Book", "xls"],
];
/** Members by which the type of a zip is detected. */
const MEMBERS: readonly (readonly [member: string, name: string])[] = [
  ["word/document.xml", "docx"],
  ["word/document2.xml", "docx"],
  ["ppt/presentation.xml", "pptx"],
  ["xl/workbook.xml", "xlsx"],
  ["xl/workbook.bin", "xlsx"],
];
const MIMETYPES: readonly (readonly [mime: string, name: string])[] = [
  ["mimetypeapplication/vnd.oasis.opendocument.text", "odt"],
  ["mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "ods"],
  ["mimetypeapplication/vnd.oasis.opendocument.presentation", "odp"],
];

/**
 * Detects the type of a document: its content decides, and its extension where contents look alike.
 *
 * @throws {ParseFailed} `empty_document`, `unsupported_type`, `type_mismatch` when content and extension contradict one
 *   another, `corrupt` when the content is nothing that is known and the extension promises a format, `encrypted`
 */
export function detectType(bytes: Buffer, filename: string): Detected {
  if (bytes.length === 0) throw new ParseFailed("empty_document", "the file has no bytes");
  const extension = extensionOf(filename);
  const declared = KNOWN_TYPES[extension];
  if (declared === undefined)
    throw new ParseFailed("unsupported_type", `the extension ${JSON.stringify(extension)} is not known`);
  const name = contentOf(bytes);
  if (name === "encrypted") throw new ParseFailed("encrypted", "the document needs a password");
  if (name === "unknown") throw unreadable(extension, declared);
  if (name === "text") {
    if (declared.family === "text") return detected(extension);
    throw new ParseFailed("corrupt", `the file is plain text and no ${extension}`);
  }
  const found = detected(name);
  // A docx is a zip; that a person calls it so is no contradiction.
  if (found.family === declared.family || declared.fileType === "zip") return found;
  throw new ParseFailed("type_mismatch", `the file is called .${extension} and is a ${name}`);
}

function detected(name: string): Detected {
  const type = KNOWN_TYPES[name];
  if (type === undefined) throw new Error(`no type is called ${name}`);
  return { ...type, name };
}

function unreadable(extension: string, { family }: KnownType): ParseFailed {
  if (family !== "text") return new ParseFailed("corrupt", `the file is no ${extension}`);
  return new ParseFailed("type_mismatch", `the file is called .${extension} and is no text`);
}

/** The name of what the bytes are, `text`, `encrypted` or `unknown`. */
function contentOf(bytes: Buffer): string {
  const head = bytes.subarray(0, SAMPLE);
  const latin = head.toString("latin1");
  if (latin.slice(0, 1_024).includes("%PDF-")) return "pdf";
  if (ZIPS.includes(latin.slice(0, 4))) return zipContent(bytes);
  if (head.subarray(0, CFB.length).equals(CFB)) return compoundContent(bytes);
  if (latin.startsWith("{\\rtf")) return "rtf";
  const image = imageContent(latin);
  if (image !== undefined) return image;
  return chooseEncoding(bytes) === undefined ? "unknown" : "text";
}

function imageContent(latin: string): string | undefined {
  if (latin.startsWith("\x89PNG\r\n\x1a\n")) return "png";
  if (latin.startsWith("\xff\xd8\xff")) return "jpg";
  if (/^(II\*\0|MM\0\*)/.test(latin)) return "tiff";
  if (/^RIFF[^]{4}WEBP/.test(latin)) return "webp";
  // The reserved fields are zero: text that begins with BM is no picture.
  if (/^BM[^]{4}\0\0\0\0/.test(latin)) return "bmp";
  return undefined;
}

/** By the names of members, which stand in the archive as they are; what they hold is for the gate. */
function zipContent(bytes: Buffer): string {
  const head = bytes.subarray(0, 200).toString("latin1");
  const open = MIMETYPES.find(([mime]) => head.includes(mime));
  if (open !== undefined) return open[1];
  return MEMBERS.find(([member]) => bytes.includes(member))?.[1] ?? "zip";
}

function compoundContent(bytes: Buffer): string {
  const found = STREAMS.find(([stream]) => bytes.includes(Buffer.from(`${stream}\0`, "utf16le")));
  return found?.[1] ?? "unknown";
}
