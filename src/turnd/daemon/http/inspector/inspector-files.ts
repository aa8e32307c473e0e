import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";

/** A file of the inspector's page, as `scripts/bundle-inspector.ts` has built it. */
export interface InspectorFile {
  /** Below the page's own address: `/inspector/main-Bx3f.js`; the page itself is `/`. */
  readonly path: string;
  readonly contentType: string;
  readonly bytes: Buffer;
  /** The same by gzip; absent where it was not built. */
  readonly gzip: Buffer | undefined;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};

/**
 * Reads the built page once.
 *
 * @returns nothing where it was never built, as in a clone whose set-up has not run
 */
export async function readInspectorFiles(directory: string): Promise<readonly InspectorFile[]> {
  const names = await listFiles(directory);
  const known = names.filter((name) => TYPES[extname(name)] !== undefined);
  return Promise.all(
    known.map(async (name) => ({
      path: name === "index.html" ? "/" : `/${name}`,
      contentType: TYPES[extname(name)] ?? "",
      bytes: await readFile(join(directory, name)),
      gzip: names.includes(`${name}.gz`) ? await readFile(join(directory, `${name}.gz`)) : undefined,
    })),
  );
}

async function listFiles(directory: string): Promise<string[]> {
  try {
    return await readdir(directory, { recursive: true });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}
