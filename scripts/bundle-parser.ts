import { dirname, join } from "node:path";
import { build } from "esbuild";

const ROOT = dirname(import.meta.dirname);

/**
 * Makes the one file of the program that reads documents; the service looks for `parse-child.mjs` beside its own bundle.
 *
 * @param file - where it goes
 */
export async function bundleParser(file: string): Promise<void> {
  await build({
    entryPoints: [join(ROOT, "src/service/knowledge/parse/child.ts")],
    outfile: file,
    bundle: true,
    platform: "node",
    target: "node22",
    format: "esm",
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "linked",
    // Only for drawing, which is not used.
    external: ["canvas", "@napi-rs/canvas"],
    // Packages written for CommonJS ask for Node's modules by `require`, and for their own directory.
    banner: {
      js: 'import { createRequire as createBundleRequire } from "node:module"; const require = createBundleRequire(import.meta.url); const __dirname = import.meta.dirname; const __filename = import.meta.filename;',
    },
    logLevel: "warning",
  });
}

if (import.meta.main) {
  const [file, ...rest] = process.argv.slice(2);
  if (file === undefined || rest.length > 0) {
    console.error("usage: node scripts/bundle-parser.ts <file>");
    process.exit(2);
  }
  await bundleParser(file);
}
