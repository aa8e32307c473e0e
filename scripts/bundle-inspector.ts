import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { build } from "vite";

const ROOT = dirname(import.meta.dirname);
const compress = promisify(gzip);

/**
 * Builds the inspector's page: what `GET /` serves, with each file by gzip beside it.
 *
 * @param target - the directory it goes to; replaced at once, others may be reading it
 */
export async function bundleInspector(target: string): Promise<void> {
  const unfinished = `${target}.${process.pid}`;
  try {
    await build({
      configFile: false,
      root: join(ROOT, "src/turnd/inspector"),
      // Below whatever path a proxy serves turnd at.
      base: "./",
      publicDir: false,
      logLevel: "warn",
      oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
      // Only for Node; a browser has its own fetch.
      build: {
        outDir: unfinished,
        emptyOutDir: true,
        assetsDir: "inspector",
        target: "es2023",
        modulePreload: false,
        // Everything from its own origin: the page's policy allows no data: script or style.
        assetsInlineLimit: 0,
        reportCompressedSize: false,
        license: { fileName: "inspector/licenses.txt" },
      },
    });
    for (const name of await readdir(unfinished, { recursive: true })) {
      if (!/\.(js|css|html|svg)$/.test(name)) continue;
      const bytes = await readFile(join(unfinished, name));
      await writeFile(join(unfinished, `${name}.gz`), await compress(bytes, { level: 9 }));
    }
    await rm(target, { recursive: true, force: true });
    await rename(unfinished, target);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

if (import.meta.main) await bundleInspector(join(ROOT, "dist/inspector"));
