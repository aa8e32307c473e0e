import { TextDecoder } from "node:util";

/** Bytes that text does not have; ESC stays, ISO-2022-JP has it. */
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const BINARY = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;
const LOOKED_AT = 4_096;
/** A page declares its encoding in its first 1 024 bytes. Source: HTML, "determining the character encoding". */
const DECLARED_IN = 1_024;

/**
 * The bytes of a page as UTF-8, by what its answer or the page itself declares.
 *
 * @param contentType - the answer's header
 * @returns undefined where they do not look like text
 */
export function readPageText(body: Buffer, contentType: string): Buffer | undefined {
  if (body.length === 0) return undefined;
  const mark = body.subarray(0, 2).toString("hex");
  const isUtf16 = mark === "fffe" || mark === "feff";
  if (!isUtf16 && BINARY.test(body.toString("latin1", 0, LOOKED_AT))) return undefined;
  if (isUtf16 || isUtf8(body)) return body;
  const declared =
    /charset\s*=\s*"?([\w:.-]+)/i.exec(contentType)?.[1] ??
    /<meta[^>]{0,200}?charset\s*=\s*["']?([\w:.-]+)/i.exec(body.toString("latin1", 0, DECLARED_IN))?.[1];
  const decoder = declared === undefined ? undefined : decoderOf(declared);
  // Without a word about it the parser guesses, as it does for files.
  return decoder === undefined ? body : Buffer.from(decoder.decode(body));
}

function isUtf8(body: Buffer): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(body);
    return true;
  } catch {
    // That is the answer.
    return false;
  }
}

function decoderOf(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    // A name that browsers do not recognise either.
    return undefined;
  }
}
