import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { usageError } from "./exit-codes.ts";
import type { Context } from "./context.ts";

const MAX_BYTES = 1_000;

/**
 * Reads a key from stdin: never from the arguments, which other users of the machine can see.
 *
 * A person who types it sees nothing of it.
 *
 * @throws {SvcError} usage where there is none
 */
export async function readKey(context: Context): Promise<string> {
  const text = context.stdin.isTTY ? await askHidden(context) : await readAll(context.stdin);
  const key = text.trim();
  if (key === "" || /[^\u0021-\u007e]/.test(key))
    throw usageError("stdin holds no key: one line, as the service gave it");
  return key;
}

async function readAll(stdin: NodeJS.ReadStream): Promise<string> {
  let text = "";
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.length > MAX_BYTES) throw usageError("stdin holds more than a key");
  }
  return text;
}

async function askHidden({ stdin, stderr, signal }: Context): Promise<string> {
  stderr.write("API key: ");
  // readline echoes to its output what is typed.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output, terminal: true });
  try {
    return await lines.question("", { signal });
  } finally {
    lines.close();
    stderr.write("\n");
  }
}
