// Plain JavaScript that runs on Node 20, as scripts/setup.mjs does.
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** turnd, and what `npm start` runs: scripts/start.mjs asks whether it is new enough. */
export const TURND = {
  file: "dist/turnd/main.mjs",
  script: "scripts/bundle-turnd.ts",
  sources: [
    "src/turnd/main.ts",
    "src/turnd/program.ts",
    "src/turnd/turnd.ts",
    "src/turnd/commands",
    "src/turnd/daemon",
    "src/turnd/loading",
    "src/turnd/protocol",
    "src/kit",
    "src/scripted-model",
    "src/turnd/client",
    "scripts/start",
    "scripts/bundle-turnd.ts",
    "scripts/cli-user.ts",
    "scripts/clis.ts",
    "scripts/fill-environment.ts",
    "scripts/running-turnd.ts",
  ],
};

/** What is built: what makes each, and its sources. `bin/` runs programs in one file; turnd serves its page. */
export const BUNDLES = [
  {
    file: "dist/service/svc/main.mjs",
    script: "scripts/bundle-svc.ts",
    sources: ["src/service/svc", "src/kit"],
  },
  TURND,
  {
    file: "dist/inspector/index.html",
    script: "scripts/bundle-inspector.ts",
    sources: ["src/turnd/inspector", "src/turnd/client", "src/turnd/protocol", "src/kit/defined.ts", "src/kit/retry"],
  },
];

/**
 * Whether what is built is older than its source, or not there.
 *
 * @param {{ file: string, sources: readonly string[] }} bundle
 * @param {string} root
 */
export function isStale({ file, sources }, root = ROOT) {
  const bundle = join(root, file);
  if (!existsSync(bundle)) return true;
  const builtAt = statSync(bundle).mtimeMs;
  return [...sources, "package.json", "package-lock.json"].some((source) => isNewer(join(root, source), builtAt));
}

/** A directory's own time shows what was removed from it. */
function isNewer(path, builtAt) {
  const found = statSync(path);
  if (found.mtimeMs > builtAt) return true;
  return found.isDirectory() && readdirSync(path).some((name) => isNewer(join(path, name), builtAt));
}
