import { mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { build } from "esbuild";

const ROOT = dirname(import.meta.dirname);
/** Packages written for CommonJS ask for Node's modules by `require`. */
const REQUIRE =
  'import { createRequire as createBundleRequire } from "node:module"; const require = createBundleRequire(import.meta.url);';

/**
 * Makes a program one file of JavaScript. Names stay whole: a stack in a log is to be read.
 *
 * @param source - its `main.ts`, below the repository's root
 * @param file - where it goes; replaced in one step: others may run it meanwhile
 */
export async function bundleProgram(source: string, file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const unfinished = join(dirname(file), `${process.pid}.mjs`);
  try {
    await build({
      entryPoints: [join(ROOT, source)],
      outfile: unfinished,
      bundle: true,
      platform: "node",
      target: "node22",
      format: "esm",
      minifySyntax: true,
      minifyWhitespace: true,
      legalComments: "inline",
      banner: { js: REQUIRE },
      logLevel: "warning",
    });
    await rename(unfinished, file);
  } finally {
    await rm(unfinished, { force: true });
  }
}
