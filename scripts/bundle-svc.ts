import { mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { build } from "esbuild";

const ROOT = dirname(import.meta.dirname);
/** Packages written for CommonJS ask for Node's modules by `require`. */
const REQUIRE =
  'import { createRequire as createBundleRequire } from "node:module"; const require = createBundleRequire(import.meta.url);';

/**
 * Makes `svc` one file of JavaScript, which starts in half the time of its source; `bin/svc` runs it while it is newer.
 * Names stay whole: a stack in a log is to be read.
 *
 * @param file - where it goes, as deep below the repository's root as `dist/service/svc/main.mjs`; replaced in one step,
 * since others may run it meanwhile
 */
export async function bundleSvc(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const unfinished = join(dirname(file), `${process.pid}.mjs`);
  try {
    await build({
      entryPoints: [join(ROOT, "src/service/svc/main.ts")],
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

if (import.meta.main) await bundleSvc(join(ROOT, "dist/service/svc/main.mjs"));
