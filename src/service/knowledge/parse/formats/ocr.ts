import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ParseFailed } from "../failures.ts";
import { escapeLine } from "./escape.ts";
import type { Original } from "./format.ts";

const MAX_TEXT = 16 * 1024 * 1024;
const HAN = "[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\u3000-\u303f\uff00-\uffef]";
const BLANK_BETWEEN_HAN = new RegExp(`(?<=${HAN})[ \\t]+(?=${HAN})`, "gu");

/** Reads the text of an image with tesseract, as paragraphs. @throws {ParseFailed} `ocr_unavailable`, `ocr_failed` */
export async function recognise(original: Original, image: Uint8Array, name: string): Promise<string> {
  const { tesseract, languages } = original;
  if (tesseract === null) throw new ParseFailed("ocr_unavailable", "tesseract is not installed");
  if (languages.length === 0) throw new ParseFailed("ocr_unavailable", "none of the languages is installed");
  const path = join(original.scratch, name);
  await writeFile(path, image);
  const text = await run(tesseract, [path, "stdout", "-l", languages.join("+"), "--psm", "3"]);
  return paragraphs(text);
}

async function run(program: string, args: readonly string[]): Promise<string> {
  // One thread: the limit of processor time is for all of them together, and the machine has other work.
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8", OMP_THREAD_LIMIT: "1" };
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], env });
  let stderr = "";
  child.stderr.on("data", (piece: Buffer) => (stderr = (stderr + piece.toString()).slice(-2_000)));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const pieces: Buffer[] = [];
  let bytes = 0;
  child.stdout.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= MAX_TEXT) pieces.push(piece);
    else child.kill("SIGKILL");
  });
  const code = await ended.catch((error: unknown) => {
    throw new ParseFailed("ocr_failed", `tesseract cannot be started: ${String(error)}`);
  });
  if (code !== 0)
    throw new ParseFailed("ocr_failed", stderr.trim() === "" ? `tesseract ended with ${code}` : stderr.trim());
  return Buffer.concat(pieces).toString();
}

/** Lines of a paragraph together; blanks that tesseract puts between Han characters removed. */
function paragraphs(text: string): string {
  return text
    .replaceAll("\f", "\n\n")
    .split(/\n\s*\n/)
    .map((paragraph) =>
      paragraph
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "")
        .join(" "),
    )
    .map((paragraph) => escapeLine(paragraph.replace(BLANK_BETWEEN_HAN, "")))
    .filter((paragraph) => paragraph !== "")
    .join("\n\n");
}
