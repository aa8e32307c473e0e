const encoder = new TextEncoder();

/** Bytes of a text in UTF-8; without Node's `Buffer`, so that a browser can check a request too. */
export function byteLength(text: string): number {
  return encoder.encode(text).length;
}
