import { InputProblem, type FieldError } from "../../protocol/problems.ts";

/** Bytes of all images of one request. */
const MAX_IMAGE_BYTES = 10 * 1_048_576;
/** Of an image as base64, with line breaks and the beginning of a data URL. */
const MAX_TEXT_LENGTH = 1.5 * MAX_IMAGE_BYTES;

/** Characters that are decoded at once; four are three bytes. */
const PIECE = 65_536;
/** Characters that hold what an image begins with. */
const BEGIN = 64;

const IMAGE_CONTENT = ["body", "image_content"];

/** What an image begins with. */
const SIGNATURES: readonly (readonly [string, (head: Buffer) => boolean])[] = [
  ["png", (head) => head.subarray(0, 8).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))],
  ["jpeg", (head) => head.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))],
  ["gif", (head) => /^GIF8[79]a$/.test(head.toString("latin1", 0, 6))],
  ["webp", (head) => head.toString("latin1", 0, 4) === "RIFF" && head.toString("latin1", 8, 12) === "WEBP"],
];

/** Makes base64, with or without a data URL around it, a data URL of what the image is. @throws {InputProblem} image_invalid */
export function readImage(content: string, loc: FieldError["loc"] = IMAGE_CONTENT): string {
  if (content.length > MAX_TEXT_LENGTH) throw tooLarge(loc);
  const head = /^data:[^,]*;base64,/.exec(content)?.[0] ?? "";
  const given = content.slice(head.length);
  // What is written as it would be written here needs no second look, which costs more than all of this.
  const isCanonical = isWrittenSo(given);
  if (!isCanonical && !isBase64(given)) throw new InputProblem("image_invalid", loc, "the image is not base64");
  const bytes = Buffer.from(isCanonical ? given.slice(0, BEGIN) : given, "base64");
  const type = SIGNATURES.find(([, matches]) => matches(bytes))?.[0];
  if (type === undefined) throw new InputProblem("image_invalid", loc, "the image is neither png, jpeg, gif nor webp");
  const own = `data:image/${type};base64,`;
  if (!isCanonical) return own + bytes.toString("base64");
  return own === head ? content : own + given;
}

/** Whether base64 is the same when it is decoded and encoded: piece by piece, in memory that is used again. */
function isWrittenSo(base64: string): boolean {
  const bytes = Buffer.allocUnsafe((PIECE / 4) * 3);
  for (let at = 0; at < base64.length; at += PIECE) {
    const piece = base64.slice(at, at + PIECE);
    if (bytes.toString("base64", 0, bytes.write(piece, "base64")) !== piece) return false;
  }
  return true;
}

/** With blanks and line breaks in it, or without padding. */
function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text.replaceAll(/\s+/g, ""));
}

function tooLarge(loc: FieldError["loc"]): InputProblem {
  return new InputProblem("image_invalid", loc, `at most ${MAX_IMAGE_BYTES} bytes of images`);
}

/** @throws {InputProblem} image_invalid for more than 10 MiB of images in all */
export function assertImagesFit(images: readonly string[], loc: FieldError["loc"] = IMAGE_CONTENT): void {
  const bytes = images.reduce(
    (sum, image) => sum + Buffer.byteLength(image.slice(image.indexOf(",") + 1), "base64"),
    0,
  );
  if (bytes > MAX_IMAGE_BYTES) throw tooLarge(loc);
}
