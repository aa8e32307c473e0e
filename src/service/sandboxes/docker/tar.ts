const BLOCK = 512;

/** A tar archive (ustar) of one file that belongs to root and that only root reads. @param name - at most 99 bytes */
export function tarOfSecret(name: string, content: string): Buffer {
  const body = Buffer.from(content, "utf8");
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, length: number): string => value.toString(8).padStart(length - 1, "0");
  header.write(name, 0, 99);
  header.write(octal(0o600, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(body.length, 12), 124);
  header.write(octal(0, 12), 136);
  // The checksum is made with spaces in its own place.
  header.write("        ", 148);
  header.write("0", 156);
  header.write("ustar\u000000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 7)}\0 `, 148);
  const padding = Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK);
  return Buffer.concat([header, body, padding, Buffer.alloc(2 * BLOCK)]);
}
