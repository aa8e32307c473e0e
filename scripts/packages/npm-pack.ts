import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { z } from "zod";

export const ROOT: string = dirname(dirname(import.meta.dirname));

const Manifest = z.object({
  version: z.string(),
  license: z.string(),
  description: z.string(),
  dependencies: z.record(z.string(), z.string()),
});

/** What the repository's package.json says of every package that is made of it. */
export async function readManifest(): Promise<z.infer<typeof Manifest>> {
  return Manifest.parse(JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")));
}

/** Copies files and folders of the repository to the same paths of a package. */
export async function copyFiles(paths: readonly string[], stage: string): Promise<void> {
  for (const path of paths) {
    await mkdir(dirname(join(stage, path)), { recursive: true });
    await cp(join(ROOT, path), join(stage, path), { recursive: true });
  }
}

/**
 * Makes the package of a directory.
 *
 * @param target - the directory that gets it
 * @returns the path of its tarball
 */
export async function packDirectory(stage: string, manifest: Readonly<Record<string, unknown>>, target: string) {
  await writeFile(join(stage, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  const args = ["pack", "--ignore-scripts", "--json", "--pack-destination", target];
  const { stdout } = await execa("npm", args, { cwd: stage });
  const [{ filename }] = z.tuple([z.object({ filename: z.string() })]).parse(JSON.parse(stdout));
  return join(target, filename);
}
