import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { Plugin } from "esbuild";
import { bundleProgram } from "./bundle-program.ts";

const ROOT = dirname(import.meta.dirname);

/** As deep as src/daemon/main.ts, so that it finds `sandbox/` by the same way up. */
export const BUNDLE = "dist/daemon/main.mjs";

/**
 * Makes turnd one file of JavaScript, which starts faster than its source and is what the image runs; `bin/turnd` runs it
 * while it is newer than the source.
 *
 * @param target - the directory that gets `dist/daemon/main.mjs`. What cannot be part of one file is looked for in
 *   `node_modules/` there
 */
export async function bundleTurnd(target: string): Promise<void> {
  await bundleProgram("src/daemon/main.ts", join(target, BUNDLE), {
    // Its other form, for CommonJS, asks for its own parts in a way that cannot be bundled.
    alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
    // Not swagger-ui: only its files are shipped, its code is bundled.
    external: ["@xterm/*"],
    plugins: [filesBesidePackage("@fastify/swagger-ui")],
  });
}

/** Lets a bundled CommonJS package find files beside itself where they are shipped. */
function filesBesidePackage(name: string): Plugin {
  const directory = join(ROOT, "node_modules", name);
  return {
    name: "files-beside-package",
    setup(building) {
      building.onLoad({ filter: /\.js$/ }, async ({ path }) => {
        if (!path.startsWith(`${directory}/`)) return undefined;
        // Beside the bundle, or where npm has put it.
        const shipped = JSON.stringify(relative(directory, dirname(path)));
        const home = `require("node:path").dirname(require.resolve(${JSON.stringify(`${name}/package.json`)}))`;
        const found = `require("node:path").join(${home}, ${shipped})`;
        return { contents: (await readFile(path, "utf8")).replaceAll("__dirname", found), loader: "js" };
      });
    },
  };
}

if (process.argv[1] === import.meta.filename) await bundleTurnd(ROOT);
