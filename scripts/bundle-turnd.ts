import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { realpathSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { build, type BuildOptions, type OutputFile, type Plugin } from "esbuild";
import { builtinsAsNeeded } from "./bundle-builtins.ts";
import { bundleProgram } from "./bundle-program.ts";

const ROOT = dirname(import.meta.dirname);

/** As deep as src/daemon/main.ts, so that it finds `sandbox/` by the same way up. */
export const BUNDLE = "dist/daemon/main.mjs";

/** What `npm start` runs; a machine that has only the bundle is prepared otherwise. */
export const STARTED_HERE = { start: "scripts/start/main.ts" };

/** What it loads, beside it: only what is needed is read and compiled. */
const PARTS = "parts";
/** V8's compiled code; src/daemon/compile-cache.ts says when it is used. */
const CACHE = "cache";
/** The SDK that sends spans is loaded where spans are sent, so that it costs nothing elsewhere. */
const TRACING_BUNDLE = "otlp-tracing.mjs";
/** A file system may count its times in steps of two seconds. */
const SAME_BUILD_MS = 2_000;

const OPTIONS = {
  // Its other form, for CommonJS, asks for its own parts in a way that cannot be bundled.
  alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
  external: ["@xterm/*"],
} satisfies BuildOptions;

/**
 * Makes turnd a few files of JavaScript, which start faster than its source and are what the image runs; `bin/turnd` runs
 * them while they are newer than the source.
 *
 * @param target - the directory that gets `dist/daemon/`. What cannot be part of it is looked for in `node_modules/` there
 * @param programs - what starts turnd in other ways, beside `main`: their sources, as deep as src/daemon/main.ts
 * @returns what it is made of, below the repository's root
 */
export async function bundleTurnd(target: string, programs: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const startedAt = new Date();
  const directory = join(target, dirname(BUNDLE));
  const builtBefore = await stat(join(target, BUNDLE)).catch(() => undefined);
  await bundleProgram("src/daemon/tracing/otlp-tracing.ts", join(directory, PARTS, TRACING_BUNDLE), OPTIONS);
  const { outputFiles, metafile } = await build({
    ...OPTIONS,
    absWorkingDir: ROOT,
    entryPoints: { main: "src/daemon/main.ts", ...programs },
    outdir: directory,
    outExtension: { ".js": ".mjs" },
    chunkNames: `${PARTS}/[name]-[hash]`,
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    platform: "node",
    target: "node22",
    format: "esm",
    // Names stay whole: a stack in a log is to be read.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "inline",
    // Packages written for CommonJS ask for Node's modules by `require`.
    banner: { js: 'const require = process.getBuiltinModule("node:module").createRequire(import.meta.url);' },
    logLevel: "warning",
    // Not swagger-ui: only its files are shipped, its code is bundled.
    plugins: [
      filesBesidePackage("@fastify/swagger-ui"),
      tracingBeside(),
      builtinsAsNeeded(),
      englishOnly(),
      withoutUnused(),
    ],
  });
  await putFiles(directory, outputFiles);
  // What is edited while it is bundled is newer than the bundle.
  await utimes(join(target, BUNDLE), startedAt, startedAt);
  await rm(join(directory, CACHE), { recursive: true, force: true });
  await mkdir(join(directory, CACHE), { mode: 0o755 });
  if (builtBefore !== undefined) await removeParts(join(directory, PARTS), builtBefore.mtimeMs - SAME_BUILD_MS);
  return Object.keys(metafile.inputs);
}

/** What loads the others last and in one step: others may run it meanwhile. */
async function putFiles(directory: string, files: readonly OutputFile[]): Promise<void> {
  const isMain = ({ path }: OutputFile): boolean => basename(path) === basename(BUNDLE);
  for (const file of [...files.filter((each) => !isMain(each)), ...files.filter(isMain)]) {
    const unfinished = join(directory, `${process.pid}.mjs`);
    await mkdir(dirname(file.path), { recursive: true });
    await writeFile(unfinished, file.contents);
    await rename(unfinished, file.path);
  }
}

/** Those of the last build stay, for a turnd that runs and has not loaded all of them. */
async function removeParts(directory: string, beforeMs: number): Promise<void> {
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    if ((await stat(path)).mtimeMs < beforeMs) await rm(path);
  }
}

/** Leaves the SDK that sends spans in its own file. */
function tracingBeside(): Plugin {
  return {
    name: "tracing-beside",
    setup(building) {
      building.onResolve({ filter: /\/otlp-tracing\.ts$/ }, () => ({ path: `./${TRACING_BUNDLE}`, external: true }));
    },
  };
}

/** zod brings its messages in fifty languages; it uses the English ones. */
function englishOnly(): Plugin {
  return {
    name: "english-only",
    setup(building) {
      building.onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, ({ path }) => ({
        contents: 'export { default as en } from "./en.js";',
        loader: "js",
        resolveDir: dirname(path),
      }));
    },
  };
}

/** Fastify asks for these where an app has no compilers of its own, or is called without a connection. */
const UNUSED = /^(@fastify\/(ajv-compiler|fast-json-stringify-compiler)|light-my-request)$/;

/** Leaves out half a megabyte of source that no turnd runs. */
function withoutUnused(): Plugin {
  return {
    name: "without-unused",
    setup(building) {
      building.onResolve({ filter: UNUSED }, ({ path }) => ({ path, namespace: "unused" }));
      building.onLoad({ filter: /.*/, namespace: "unused" }, ({ path }) => ({
        contents: `throw new Error(${JSON.stringify(`${path} is not part of turnd's bundle`)});`,
      }));
    },
  };
}

/** Lets a bundled CommonJS package find files beside itself where they are shipped. */
function filesBesidePackage(name: string): Plugin {
  // As esbuild gives paths: packages may be behind a link.
  const directory = realpathSync(join(ROOT, "node_modules", name));
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

if (import.meta.main) await bundleTurnd(ROOT, STARTED_HERE);
