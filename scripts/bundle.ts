import { cp, mkdir, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { bundleInspector } from "./bundle-inspector.ts";
import { bundleTurnd } from "./bundle-turnd.ts";

const ROOT = dirname(import.meta.dirname);

/** What cannot be part of one file, by package: files that are served as they are. */
export const SHIPPED: Readonly<Record<string, readonly string[]>> = {
  "@fastify/swagger-ui": ["package.json", "LICENSE", "static"],
  "@xterm/addon-fit": ["package.json", "LICENSE", "lib/addon-fit.mjs"],
  "@xterm/addon-unicode11": ["package.json", "LICENSE", "lib/addon-unicode11.mjs"],
  "@xterm/xterm": ["package.json", "LICENSE", "lib/xterm.mjs", "css"],
};

/**
 * Makes the tree that the image runs: turnd as one file, and beside it its page and what cannot be part of one.
 *
 * @param target - a directory that is made anew; `sandbox/` goes beside what it holds
 */
export async function bundle(target: string): Promise<void> {
  await rm(target, { recursive: true, force: true });
  await bundleTurnd(target);
  await bundleInspector(join(target, "dist/inspector"));
  for (const [name, paths] of Object.entries(SHIPPED)) {
    for (const path of paths) {
      const to = join(target, "node_modules", name, path);
      await mkdir(dirname(to), { recursive: true });
      await cp(join(ROOT, "node_modules", name, path), to, { recursive: true });
    }
  }
}

if (import.meta.main) {
  const [target, ...rest] = process.argv.slice(2);
  if (target === undefined || target.startsWith("-") || rest.length > 0) {
    console.error("usage: node scripts/bundle.ts <directory>");
    process.exit(2);
  }
  await bundle(resolve(target));
}
