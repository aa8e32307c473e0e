import { cp, mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { build, type Plugin } from "esbuild";

const ROOT = dirname(import.meta.dirname);
// As deep as src/daemon/main.ts, so that it finds `sandbox/` by the same way up.
const BUNDLE = "dist/daemon/main.mjs";

/** What cannot be part of one file, by package: files that are served as they are. */
const SHIPPED: Readonly<Record<string, readonly string[]>> = {
  "@fastify/swagger-ui": ["package.json", "LICENSE", "static"],
  "@xterm/addon-fit": ["package.json", "LICENSE", "lib/addon-fit.mjs"],
  "@xterm/xterm": ["package.json", "LICENSE", "lib/xterm.mjs", "css"],
};

/**
 * Makes the tree that the image runs: turnd as one file, and beside it what cannot be part of one.
 *
 * @param target - a directory that is made anew; `sandbox/` goes beside what it holds
 */
async function bundle(target: string): Promise<void> {
  await rm(target, { recursive: true, force: true });
  await build({
    entryPoints: [join(ROOT, "src/daemon/main.ts")],
    outfile: join(target, BUNDLE),
    bundle: true,
    platform: "node",
    target: "node22",
    format: "esm",
    // Whole names: a stack in a log is to be read.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "linked",
    // Its other form, for CommonJS, asks for its own parts in a way that cannot be bundled.
    alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
    // Not swagger-ui: only its files are shipped, its code is bundled.
    external: ["@xterm/*"],
    plugins: [filesBesidePackage("@fastify/swagger-ui")],
    // Packages written for CommonJS ask for Node's modules by `require`.
    banner: {
      js: 'import { createRequire as createBundleRequire } from "node:module"; const require = createBundleRequire(import.meta.url); const bundleDirectory = import.meta.dirname;',
    },
    logLevel: "warning",
  });
  for (const [name, paths] of Object.entries(SHIPPED)) {
    for (const path of paths) {
      const to = join(target, "node_modules", name, path);
      await mkdir(dirname(to), { recursive: true });
      await cp(join(ROOT, "node_modules", name, path), to, { recursive: true });
    }
  }
}

/** Lets a bundled CommonJS package find files beside itself where they are shipped. */
function filesBesidePackage(name: string): Plugin {
  const directory = join(ROOT, "node_modules", name);
  return {
    name: "files-beside-package",
    setup(building) {
      building.onLoad({ filter: /\.js$/ }, async ({ path }) => {
        if (!path.startsWith(`${directory}/`)) return undefined;
        const shipped = relative(dirname(BUNDLE), relative(ROOT, dirname(path)));
        const found = `require("node:path").join(bundleDirectory, ${JSON.stringify(shipped)})`;
        return { contents: (await readFile(path, "utf8")).replaceAll("__dirname", found), loader: "js" };
      });
    },
  };
}

const [target, ...rest] = process.argv.slice(2);
if (target === undefined || rest.length > 0) {
  console.error("usage: node scripts/bundle.ts <directory>");
  process.exit(2);
}
await bundle(target);
