import { mkdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { realpathSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { build, type BuildOptions, type Plugin } from "esbuild";
const ROOT = dirname(import.meta.dirname);

/** As deep as src/turnd/main.ts, so that it finds `sandbox/` by the same way up. */
export const BUNDLE = "dist/turnd/main.mjs";

/** A main file, and the module that it loads once V8 is prepared. */
interface Program {
  readonly main: string;
  readonly loads: string;
}
const TURND: Program = { main: "src/turnd/main.ts", loads: "src/turnd/program.ts" };
/** What `npm start` runs; a machine that has only the bundle is prepared otherwise. */
export const STARTED_HERE: Readonly<Record<string, Program>> = {
  start: { main: "scripts/start/main.ts", loads: "scripts/start/start.ts" },
};

/** Node's cache of compiled code; src/turnd/loading/prepare.ts says when it is used. */
const CACHE = "cache";
/** The SDK that sends spans is loaded where spans are sent, so that it costs nothing elsewhere. */
const TRACING_SOURCE = "src/turnd/daemon/tracing/otlp-tracing.ts";
const OPTIONS = {
  absWorkingDir: ROOT,
  bundle: true,
  write: false,
  platform: "node",
  target: "node22",
  // Of a script Node's cache has what ran too, of a module only what is compiled before it runs.
  format: "cjs",
  supported: { "dynamic-import": false },
  define: { "import.meta.url": "bundleUrl", "import.meta.dirname": "__dirname" },
  banner: { js: `const bundleUrl = require("node:url").pathToFileURL(__filename).href;` },
  // ASCII takes half the memory.
  charset: "ascii",
  // Names stay whole: a stack in a log is to be read.
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "inline",
  logLevel: "warning",
  // Its other form, for CommonJS, asks for its own parts in a way that cannot be bundled.
  alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
  external: ["@xterm/*", "@fastify/swagger-ui/package.json"],
} satisfies BuildOptions;

/**
 * Makes turnd a few files of JavaScript, which start faster than its source and are what the image runs; `bin/turnd` runs
 * them while they are newer than the source.
 *
 * @param target - the directory that gets `dist/turnd/`. What cannot be part of it is looked for in `node_modules/` there
 * @param others - what starts turnd in other ways, beside `main`; their main files as deep as src/turnd/main.ts
 * @returns what it is made of, below the repository's root
 */
export async function bundleTurnd(target: string, others: Readonly<Record<string, Program>> = {}): Promise<string[]> {
  const startedAt = new Date();
  const directory = join(target, dirname(BUNDLE));
  const programs = { main: TURND, ...others };
  const loaded = await build({
    ...OPTIONS,
    entryPoints: [TRACING_SOURCE, ...Object.values(programs).map(({ loads }) => loads)],
    entryNames: "[name]",
    outdir: ".",
    outExtension: { ".js": ".cjs" },
    metafile: true,
    // Not swagger-ui: only its files are shipped, its code is bundled.
    plugins: [filesBesidePackage("@fastify/swagger-ui"), tracingBeside(), englishOnly(), withoutUnused()],
  });
  const mains = await build({
    ...OPTIONS,
    format: "esm",
    define: {},
    // Node's cache is not asked for what a module imports of scripts.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    entryPoints: Object.fromEntries(Object.entries(programs).map(([name, { main }]) => [name, main])),
    outdir: ".",
    outExtension: { ".js": ".mjs" },
    metafile: true,
    plugins: [programBeside()],
  });
  // Mains last: others may run turnd meanwhile.
  await putFiles(directory, [...loaded.outputFiles, ...mains.outputFiles.toReversed()]);
  // What is edited while it is bundled is newer than the bundle.
  await utimes(join(target, BUNDLE), startedAt, startedAt);
  await emptyCache(directory);
  return [loaded, mains].flatMap(({ metafile }) => Object.keys(metafile.inputs));
}

/** Each in one step, in their order. */
async function putFiles(
  directory: string,
  files: readonly { readonly path: string; readonly text: string }[],
): Promise<void> {
  // Whatever the umask: compiled code is taken only from where no other user can write.
  await mkdir(directory, { recursive: true, mode: 0o755 });
  for (const { path, text } of files) {
    const unfinished = join(directory, `${process.pid}.unfinished`);
    await writeFile(unfinished, text);
    await rename(unfinished, join(directory, basename(path)));
  }
}

/** A turnd that runs may put code into it, and another build may do the same, at this moment. */
async function emptyCache(directory: string): Promise<void> {
  const [cache, old] = [join(directory, CACHE), join(directory, `${CACHE}.${process.pid}`)];
  await rename(cache, old).catch((error: unknown) => {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  });
  await mkdir(cache, { recursive: true, mode: 0o700 });
  await rm(old, { recursive: true, force: true });
}

/** Leaves the program in its own file, beside the main file that loads it. */
function programBeside(): Plugin {
  return {
    name: "program-beside",
    setup(building) {
      building.onResolve({ filter: /^\.\/[\w-]+\.ts$/ }, ({ path, kind }) =>
        kind === "dynamic-import" ? { path: path.replace(/\.ts$/, ".cjs"), external: true } : undefined,
      );
    },
  };
}

/** Leaves the SDK that sends spans in its own file. */
function tracingBeside(): Plugin {
  return {
    name: "tracing-beside",
    setup(building) {
      building.onResolve({ filter: /\/otlp-tracing\.ts$/ }, ({ kind }) =>
        kind === "entry-point" ? undefined : { path: "./otlp-tracing.cjs", external: true },
      );
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
