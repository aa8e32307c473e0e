import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";

/** The SHA-256 of a file's bytes, in hex. */
export async function hashFile(absolute: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(absolute, { highWaterMark: 262_144 }), hash, { signal });
  return hash.digest("hex");
}
