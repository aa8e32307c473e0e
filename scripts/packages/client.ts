import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { copyFiles, packDirectory, readManifest, ROOT } from "./npm-pack.ts";

const DEPENDENCIES = ["eventsource-parser", "zod"] as const;

/** For a browser and for Node: with the types of the web, and none of Node's. */
const COMPILER_OPTIONS = {
  module: "nodenext",
  target: "es2023",
  lib: "es2024,dom,dom.asynciterable",
  types: "",
  rootDir: join(ROOT, "src"),
};
const COMPILER_FLAGS = [
  "--ignoreConfig",
  "--declaration",
  "--rewriteRelativeImportExtensions",
  "--verbatimModuleSyntax",
  "--strict",
  "--exactOptionalPropertyTypes",
  "--noUncheckedIndexedAccess",
  "--skipLibCheck",
];

/** Makes the client's package: `src/turnd/client` and what it imports, as JavaScript with its types. */
export async function packClient(stage: string, target: string): Promise<string> {
  const { version, license, dependencies } = await readManifest();
  await compile(join(stage, "dist"));
  await copyFiles(["CHANGELOG.md", "LICENSE", "src/turnd/client/README.md"], stage);
  await rename(join(stage, "src/turnd/client/README.md"), join(stage, "README.md"));
  const manifest = {
    name: "turnd-client",
    version,
    description: "Calls turnd, a daemon that runs turns of coding command-line tools, from Node and from browsers.",
    license,
    type: "module",
    exports: {
      ".": { types: "./dist/client/index.d.ts", default: "./dist/client/index.js" },
      "./package.json": "./package.json",
    },
    types: "./dist/client/index.d.ts",
    files: ["dist/", "CHANGELOG.md"],
    sideEffects: false,
    engines: { node: ">=20.3" },
    dependencies: Object.fromEntries(DEPENDENCIES.map((name) => [name, `^${dependencies[name]}`])),
  };
  return packDirectory(stage, manifest, target);
}

/** Where the entry is within the package: pages name it in their import maps. */
const ENTRY = "client/index";

async function compile(outDir: string): Promise<void> {
  const options = Object.entries({ ...COMPILER_OPTIONS, outDir }).flatMap(([name, value]) => [`--${name}`, value]);
  const entry = join(ROOT, "src/turnd/client/index.ts");
  await execa(join(ROOT, "node_modules/.bin/tsc"), [entry, ...options, ...COMPILER_FLAGS]);
  for (const path of await readdir(outDir, { recursive: true })) {
    // The compiler rewrites what imports JavaScript, not what imports types.
    if (path.endsWith(".d.ts")) await rewriteImports(join(outDir, path));
  }
  await mkdir(join(outDir, dirname(ENTRY)));
  for (const end of [".js", ".d.ts"]) {
    await writeFile(join(outDir, `${ENTRY}${end}`), `export * from "../turnd/${ENTRY}.js";\n`);
  }
}

async function rewriteImports(path: string): Promise<void> {
  const text = await readFile(path, "utf8");
  await writeFile(path, text.replaceAll(/(from |import\()"(\.[^"]+)\.ts"/g, '$1"$2.js"'));
}
