import { createReadStream } from "node:fs";
import type { StreamedBody } from "../client.ts";
import { SvcError } from "../exit-codes.ts";

/** A form with one file, read from disk while it is sent. Source: RFC 7578, RFC 8187 for the name. */
export function fileForm(filename: string, absolute: string, onBytes: (sent: number) => void): StreamedBody {
  const boundary = `svc-${crypto.randomUUID()}`;
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    chunks: write(boundary, filename, absolute, onBytes),
  };
}

async function* write(
  boundary: string,
  filename: string,
  absolute: string,
  onBytes: (sent: number) => void,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; ${nameOf(filename)}\r\ncontent-type: application/octet-stream\r\n\r\n`,
  );
  let sent = 0;
  const file = createReadStream(absolute, { highWaterMark: 65_536 });
  try {
    for await (const chunk of file) {
      if (!(chunk instanceof Uint8Array)) throw new TypeError("a file is read as bytes");
      yield chunk;
      sent += chunk.length;
      onBytes(sent);
    }
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error && "code" in error)) throw error;
    throw new SvcError("file_unreadable", `the file cannot be read (${String(error.code)})`, { cause: error });
  } finally {
    file.destroy();
  }
  yield Buffer.from(`\r\n--${boundary}--\r\n`);
}

/** A name with characters that a quoted string cannot contain is sent percent-encoded, in `filename*`. */
function nameOf(filename: string): string {
  if (/^[\w .()@,;+=!-]+$/.test(filename)) return `filename="${filename}"`;
  const encoded = encodeURIComponent(filename).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  );
  return `filename*=UTF-8''${encoded}`;
}
