import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { realpathSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { build, type BuildOptions, type Metafile, type Plugin } from "esbuild";
import { builtinsAsNeeded } from "./bundle-builtins.ts";
import { partsOf, toAscii, toPart, type NamedPart } from "./bundle-parts.ts";

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

/** What it loads, beside it: only what is needed is read and compiled. */
const PARTS = "parts";
/** V8's compiled code; src/turnd/loading/compiled-code.ts says when it is used. */
const CACHE = "cache";
/** The SDK that sends spans is loaded where spans are sent, so that it costs nothing elsewhere. */
const TRACING = "otlp-tracing.cjs";
/** A file system may count its times in steps of two seconds. */
const SAME_BUILD_MS = 2_000;

const OPTIONS = {
  absWorkingDir: ROOT,
  bundle: true,
  write: false,
  platform: "node",
  target: "node22",
  format: "esm",
  // Names stay whole: a stack in a log is to be read.
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "inline",
  logLevel: "warning",
  // Its other form, for CommonJS, asks for its own parts in a way that cannot be bundled.
  alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
  external: ["@xterm/*"],
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
  const builtBefore = await stat(join(target, BUNDLE)).catch(() => undefined);
  const programs = { main: TURND, ...others };
  const tracing = await build({
    ...OPTIONS,
    entryPoints: ["src/turnd/daemon/tracing/otlp-tracing.ts"],
    outfile: TRACING,
  });
  const parts = await build({
    ...OPTIONS,
    entryPoints: Object.values(programs).map(({ loads }) => loads),
    outdir: PARTS,
    outExtension: { ".js": ".cjs" },
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    splitting: true,
    metafile: true,
    // Not swagger-ui: only its files are shipped, its code is bundled.
    plugins: [
      filesBesidePackage("@fastify/swagger-ui"),
      tracingBeside(),
      builtinsAsNeeded(),
      englishOnly(),
      withoutUnused(),
    ],
  });
  const mains = await build({
    ...OPTIONS,
    entryPoints: Object.fromEntries(Object.entries(programs).map(([name, { main }]) => [name, main])),
    outdir: ".",
    outExtension: { ".js": ".mjs" },
    metafile: true,
    plugins: [partsOf(ROOT, namedIn(parts.metafile)), builtinsAsNeeded()],
  });
  const code = [...tracing.outputFiles, ...parts.outputFiles].map(async ({ path, text }) => ({
    path: join(directory, PARTS, basename(path)),
    text: toAscii(await toPart(text)),
  }));
  await putFiles([
    ...(await Promise.all(code)),
    // Last: others may run turnd meanwhile.
    ...mains.outputFiles.map(({ path, text }) => ({ path: join(directory, basename(path)), text })).toReversed(),
  ]);
  // What is edited while it is bundled is newer than the bundle.
  await utimes(join(target, BUNDLE), startedAt, startedAt);
  await emptyCache(directory);
  if (builtBefore !== undefined) await removeParts(join(directory, PARTS), builtBefore.mtimeMs - SAME_BUILD_MS);
  return [parts, mains].flatMap(({ metafile }) => Object.keys(metafile.inputs));
}

/** The parts that are loaded by name, by the absolute paths of their sources. */
function namedIn({ outputs }: Metafile): Map<string, NamedPart> {
  return new Map(
    Object.entries(outputs).flatMap(([file, { entryPoint, exports }]) =>
      entryPoint === undefined ? [] : [[join(ROOT, entryPoint), { file: join(PARTS, basename(file)), exports }]],
    ),
  );
}

/** Each in one step, in their order. */
async function putFiles(files: readonly { readonly path: string; readonly text: string }[]): Promise<void> {
  for (const { path, text } of files) {
    const unfinished = join(dirname(path), `${process.pid}.unfinished`);
    // Whatever the umask: code is taken only from where no other user can write.
    await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    await writeFile(unfinished, text);
    await rename(unfinished, path);
  }
}

/** A turnd that runs may put code into it, and another build may do the same, at this moment. */
async function emptyCache(directory: string): Promise<void> {
  const [cache, old] = [join(directory, CACHE), join(directory, `${CACHE}.${process.pid}`)];
  await rename(cache, old).catch(acceptMissing);
  await mkdir(cache, { recursive: true, mode: 0o755 });
  await rm(old, { recursive: true, force: true });
}

/** Those of the last build stay, for a turnd that runs and has not loaded all of them. */
async function removeParts(directory: string, beforeMs: number): Promise<void> {
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    // Another build may have removed it.
    const found = await stat(path).catch(acceptMissing);
    if (found !== undefined && found.mtimeMs < beforeMs) await rm(path, { force: true });
  }
}

function acceptMissing(error: unknown): undefined {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
  throw error;
}

/** Leaves the SDK that sends spans in its own file. */
function tracingBeside(): Plugin {
  return {
    name: "tracing-beside",
    setup(building) {
      building.onResolve({ filter: /\/otlp-tracing\.ts$/ }, () => ({ path: `./${TRACING}`, external: true }));
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
