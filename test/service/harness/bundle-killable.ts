import { readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { build, type Plugin } from "esbuild";
import { REPOSITORY } from "../../harness/temporary.ts";

/** Files of ours know in the bundle where they were: migrations, pages and programs are beside them. */
const keepPlaces: Plugin = {
  name: "keep-places",
  setup({ onLoad }) {
    onLoad({ filter: /\/(src|test)\/.*\.ts$/ }, ({ path }) => ({
      loader: "ts",
      contents: readFileSync(path, "utf8")
        .replaceAll("import.meta.dirname", JSON.stringify(dirname(path)))
        .replaceAll("import.meta.filename", JSON.stringify(path))
        .replaceAll("import.meta.url", JSON.stringify(`file://${path}`)),
    }));
  },
};

/**
 * Makes the service that tests kill one file of JavaScript: from source each start takes half a second more of CPU.
 *
 * @param directory - where it goes
 * @returns its path
 */
export async function bundleKillable(directory: string): Promise<string> {
  const entry = join(REPOSITORY, "test/service/programs/killable-service.ts");
  const outfile = join(directory, "killable.mjs");
  symlinkSync(join(REPOSITORY, "node_modules"), join(directory, "node_modules"));
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    target: "node22",
    format: "esm",
    packages: "external",
    plugins: [keepPlaces],
    logLevel: "warning",
  });
  return outfile;
}
