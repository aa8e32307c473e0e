/** How a task of the starter ended. */
export interface StarterAnswer {
  /** null where it was given up. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const LENGTH_BYTES = 4;

/** A request to `sandbox/starter`: texts, each behind its length, and all of them behind theirs. */
export function encodeRequest(texts: readonly (string | Uint8Array)[]): Buffer {
  return withLength(Buffer.concat(texts.map((text) => withLength(Buffer.from(text)))));
}

function withLength(bytes: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Puts together what comes of an answer. */
export interface AnswerReader {
  /** @returns the answer, once all of it is there */
  push(bytes: Buffer): StarterAnswer | undefined;
}

/** Makes the reader of one answer: exit code, output, errors. */
export function createAnswerReader(): AnswerReader {
  let all = Buffer.alloc(0);
  return {
    push(bytes) {
      all = Buffer.concat([all, bytes]);
      if (all.length < LENGTH_BYTES || all.length < LENGTH_BYTES + all.readUInt32BE(0)) return undefined;
      const [code = "", stdout = "", stderr = ""] = splitTexts(all.subarray(LENGTH_BYTES));
      return { code: Number(code), stdout: withoutNewline(stdout), stderr: withoutNewline(stderr) };
    },
  };
}

function splitTexts(bytes: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + LENGTH_BYTES + bytes.readUInt32BE(at);
    texts.push(bytes.toString("utf8", at + LENGTH_BYTES, end));
    at = end;
  }
  return texts;
}

function withoutNewline(text: string): string {
  return text.endsWith("\n") ? text.slice(0, -1) : text;
}
