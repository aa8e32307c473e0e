import { readFileSync, statSync } from "node:fs";
import { z } from "zod";

const Credential = z.strictObject({
  type: z.enum(["dify", "notion"]),
  /** Of dify it ends in `/v1`; of notion it is `https://api.notion.com`. */
  base_url: z.url({ protocol: /^https?$/ }),
  api_key: z.string().regex(/^[\u0021-\u007e]+$/),
});
export type Credential = z.infer<typeof Credential>;

/** By name. A user who creates a knowledge base gives the name, never sees the key, and does not choose where it is sent. */
export type Credentials = ReadonlyMap<string, Credential>;

const File = z.record(z.string().regex(/^[\w.-]{1,64}$/), Credential);

/**
 * Reads the file of credentials.
 *
 * @throws {Error} where others may read it, or it has another shape; nothing of its content is quoted
 */
export function readCredentials(file: string): Credentials {
  if ((statSync(file).mode & 0o077) !== 0) throw new Error("others may read it: chmod 600");
  const parsed = File.safeParse(parseJson(readFileSync(file, "utf8")));
  if (parsed.success) return new Map(Object.entries(parsed.data));
  const [issue] = parsed.error.issues;
  throw new Error(
    `not {"<name>": {"type", "base_url", "api_key"}}: wrong at ${issue?.path.join(".") || "its beginning"}`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes what it did not understand, which may be a key.
    throw new Error("not JSON");
  }
}
