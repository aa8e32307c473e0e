import { copyFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { bundle, SHIPPED } from "../bundle.ts";
import { copyFiles, packDirectory, readManifest, ROOT } from "./npm-pack.ts";

const FILES = ["bin/turnd", "CHANGELOG.md", "LICENSE"] as const;

/** The part of `sandbox/` that only the image needs; turnd reads the rest. */
const OF_THE_IMAGE = new Set([
  "README.md",
  "cors-headers.conf",
  "deploy",
  "directories",
  "hold-ports",
  "install-clis",
  "nginx.conf",
  "node_modules",
  "package-lock.json",
  "package.json",
  "render-front",
  "supervise",
  "turnd",
  "versions",
]);

/**
 * Makes turnd's package: what the image runs, with nothing to be fetched when it is installed.
 *
 * Not the repository's own package.json: its dependencies are those of the agent service too, 170 MB of them.
 */
export async function packTurnd(stage: string, target: string): Promise<string> {
  const { version, license, description, dependencies } = await readManifest();
  await bundle(stage);
  const programs = (await readdir(join(ROOT, "sandbox"))).filter((name) => !OF_THE_IMAGE.has(name));
  await copyFiles([...FILES, ...programs.map((name) => join("sandbox", name))], stage);
  // The repository's own README describes a clone.
  await copyFile(join(import.meta.dirname, "turnd.md"), join(stage, "README.md"));
  const shipped = Object.keys(SHIPPED);
  for (const name of shipped) await dropDependencies(join(stage, "node_modules", name, "package.json"));
  const manifest = {
    name: "turnd",
    version,
    description,
    license,
    type: "module",
    bin: { turnd: "bin/turnd" },
    engines: { node: ">=22.18" },
    os: ["linux"],
    dependencies: Object.fromEntries(shipped.map((name) => [name, dependencies[name]])),
    bundleDependencies: shipped,
  };
  return packDirectory(stage, manifest, target);
}

const NEEDS = new Set(["dependencies", "devDependencies", "peerDependencies", "scripts"]);

/** Only its files are shipped, without its dependencies. */
async function dropDependencies(path: string): Promise<void> {
  const manifest = z.record(z.string(), z.unknown()).parse(JSON.parse(await readFile(path, "utf8")));
  const kept = Object.fromEntries(Object.entries(manifest).filter(([name]) => !NEEDS.has(name)));
  await writeFile(path, `${JSON.stringify(kept, null, 2)}\n`);
}
