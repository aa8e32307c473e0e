import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { z } from "zod";
import { runNpm } from "../run-npm.mjs";

/** Every version of the CLIs that is known beside the ones of the image. */
export const VERSIONS = join(import.meta.dirname, "../../sandbox/versions");

/** A CLI whose versions can be tried. */
export interface Upgradable {
  readonly executor: "cli-a" | "cli-b";
  /** What its versions are called in `sandbox/versions/package.json`. */
  readonly name: "opencode" | "codex";
  /** The package whose versions people install, and whose `latest` is asked for. */
  readonly released: string;
}

const UPGRADABLE: readonly Upgradable[] = [
  { executor: "cli-a", name: "opencode", released: "opencode-ai" },
  { executor: "cli-b", name: "codex", released: "@openai/codex" },
];

/** @param word - the executor's id or the name of its CLI */
export function findUpgradable(word: string): Upgradable | undefined {
  return UPGRADABLE.find(({ executor, name }) => executor === word || name === word);
}

/**
 * Asks the registry for a version.
 *
 * @param wanted - a version, or a tag such as `latest`
 * @throws if the registry has none of it
 */
export async function resolveVersion({ released }: Upgradable, wanted: string): Promise<string> {
  const args = ["view", `${released}@${wanted}`, "version", "--json"];
  const { exitCode, stdout } = await execa("npm", args, { reject: false, stderr: ["inherit", "pipe"] });
  const version = exitCode === 0 && stdout !== "" ? z.string().safeParse(JSON.parse(stdout)) : undefined;
  if (version?.success !== true) throw new Error(`the registry has no ${released}@${wanted}, or more than one`);
  return version.data;
}

/** As much of a `package.json` as is changed. */
const Manifest = z.object({ optionalDependencies: z.record(z.string(), z.string()) });
/** All of it, in the order in which it stands. */
const Members = z.record(z.string(), z.unknown());

/** Pins a version beside the known ones and installs it. @returns whether it was not pinned before */
export async function pinVersion(cli: Upgradable, version: string): Promise<boolean> {
  const path = join(VERSIONS, "package.json");
  const before = await readFile(path, "utf8");
  const after = addVersion(before, cli, version);
  const isNew = after !== before;
  if (isNew) {
    await writeFile(path, after);
    npm(["install", "--package-lock-only", "--ignore-scripts", "--omit-lockfile-registry-resolved"], VERSIONS);
  }
  npm(["ci"], VERSIONS);
  return isNew;
}

/** The text of a `package.json` with one more version, and all else as it is and where it is. */
export function addVersion(text: string, cli: Upgradable, version: string): string {
  const manifest = Members.parse(JSON.parse(text));
  const { optionalDependencies } = Manifest.parse(manifest);
  const pinned = Object.entries({ ...optionalDependencies, ...packagesOf(cli, version) });
  const sorted = Object.fromEntries(pinned.toSorted(([left], [right]) => (left < right ? -1 : 1)));
  return `${JSON.stringify({ ...manifest, optionalDependencies: sorted }, null, 2)}\n`;
}

/** Installs a version in a directory of its own, so that the repository stays as it is. */
export async function installElsewhere(cli: Upgradable, version: string, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const manifest = { private: true, optionalDependencies: packagesOf(cli, version) };
  await writeFile(join(directory, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  npm(["install", "--ignore-scripts", "--no-package-lock"], directory);
}

/** The platform packages hold the native binaries: no wrapper, no install script. */
function packagesOf({ name }: Upgradable, version: string): Record<string, string> {
  if (name === "codex") return { [`codex-${version}`]: `npm:@openai/codex@${version}-linux-x64` };
  return Object.fromEntries(
    ["", "-baseline"].map((build) => [`opencode-${version}${build}`, `npm:opencode-linux-x64${build}@${version}`]),
  );
}

function npm(args: readonly string[], directory: string): void {
  const { status, error } = runNpm(args, directory);
  if (status !== 0)
    throw new Error(`npm ${args[0]} failed in ${directory} (${error?.message ?? `exit code ${status}`})`);
}
