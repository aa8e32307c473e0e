/** How bytes are read as text. */
export interface TextEncodingChoice {
  readonly name: "utf-8" | "utf-16le" | "utf-16be" | "gb18030" | "windows-1252";
  /** Bytes at the beginning that are no text. */
  readonly skip: number;
}

const SLAB = 1024 * 1024;
/** What decides between encodings of one byte and of two is looked for here. */
const SAMPLE = 256 * 1024;

/**
 * Finds the encoding of a text: by its mark, else UTF-8 if all of it is, else UTF-16 by where the zeros are, else gb18030 if
 * all of it is and it looks it, else windows-1252.
 *
 * @returns undefined when it is no text in any of them
 */
export function chooseEncoding(bytes: Buffer): TextEncodingChoice | undefined {
  if (bytes.length >= 3 && bytes.readUIntBE(0, 3) === 0xefbbbf) return { name: "utf-8", skip: 3 };
  const mark = bytes.length >= 2 ? bytes.readUInt16BE(0) : 0;
  if (mark === 0xfffe) return { name: "utf-16le", skip: 2 };
  if (mark === 0xfeff) return { name: "utf-16be", skip: 2 };
  const zeros = zerosOf(bytes.subarray(0, SAMPLE));
  if (zeros === undefined && decodes(bytes, "utf-8"))
    return isControlled(bytes) ? undefined : { name: "utf-8", skip: 0 };
  if (zeros !== undefined) return { name: zeros, skip: 0 };
  if (isControlled(bytes)) return undefined;
  if (looksGb(bytes.subarray(0, SAMPLE)) && decodes(bytes, "gb18030")) return { name: "gb18030", skip: 0 };
  return { name: "windows-1252", skip: 0 };
}

/** The text, in pieces. */
export function* decodeText(bytes: Buffer, { name, skip }: TextEncodingChoice): Generator<string> {
  const decoder = new TextDecoder(name);
  for (let at = skip; at < bytes.length; at += SLAB) {
    yield decoder.decode(bytes.subarray(at, at + SLAB), { stream: true });
  }
  yield decoder.decode();
}

function decodes(bytes: Buffer, name: string): boolean {
  const decoder = new TextDecoder(name, { fatal: true });
  try {
    for (let at = 0; at < bytes.length; at += SLAB) {
      decoder.decode(bytes.subarray(at, at + SLAB), { stream: at + SLAB < bytes.length });
    }
    return true;
  } catch {
    // Only a wrong encoding throws here.
    return false;
  }
}

/** Text in Latin letters as UTF-16 has a zero in every other place, nearly always the same. */
function zerosOf(sample: Buffer): "utf-16le" | "utf-16be" | undefined {
  const zeros = [0, 0];
  for (const [index, byte] of sample.entries()) if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  const many = sample.length * 0.15;
  if (odd > many && even < odd / 20) return "utf-16le";
  if (even > many && odd < even / 20) return "utf-16be";
  return undefined;
}

/** Whether there are more control characters than a text has. */
function isControlled(bytes: Buffer): boolean {
  const sample = bytes.subarray(0, SAMPLE);
  let controls = 0;
  let zeros = 0;
  for (const byte of sample) {
    if (byte === 0) zeros += 1;
    else if ((byte < 32 && (byte < 7 || byte > 13) && byte !== 27) || byte === 127) controls += 1;
  }
  // Nothing but zeros is an empty page of a disk, no format.
  if (zeros === sample.length) return false;
  return controls + zeros > sample.length * 0.05;
}

/** Chinese text is mostly pairs of two high bytes; an accent of Latin text stands before a letter. */
function looksGb(sample: Buffer): boolean {
  let pairs = 0;
  let others = 0;
  for (let at = 0; at < sample.length; at += 1) {
    if ((sample[at] ?? 0) < 0x80) continue;
    if ((sample[at + 1] ?? 0) >= 0xa1) pairs += 1;
    else others += 1;
    at += 1;
  }
  return pairs > 0 && pairs >= others * 2;
}
