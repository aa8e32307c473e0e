import { existsSync, renameSync, writeFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { execa } from "execa";
import { z } from "zod";
import { isInstalled } from "../install-missing.mjs";
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

/** An error that a person can act on, shown without its stack. */
export class UpgradeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UpgradeError";
  }
}

/** Ctrl-C ends npm too; while npm runs, this process gets no signal. */
export class NpmEnded extends Error {
  readonly signal: "SIGINT" | "SIGTERM";

  constructor(signal: "SIGINT" | "SIGTERM") {
    super(`npm was ended by ${signal}`);
    this.name = "NpmEnded";
    this.signal = signal;
  }
}

/** What `npm view --json` prints: a version, several, or why there is none. */
const Viewed = z.union([
  z.string(),
  z.array(z.string()),
  z.object({ error: z.object({ code: z.string(), summary: z.string() }) }),
]);

/**
 * Asks the registry for a version.
 *
 * @param wanted - a version, or a tag such as `latest`
 * @throws {UpgradeError} if the registry has none of it, has several, or cannot be asked
 */
export async function resolveVersion({ released }: Upgradable, wanted: string): Promise<string> {
  const args = ["view", `${released}@${wanted}`, "version", "--json"];
  const { stdout, stderr } = await execa("npm", args, { reject: false });
  return readView(`${released}@${wanted}`, stdout, stderr);
}

/** @param stdout - of `npm view <what> version --json` */
export function readView(what: string, stdout: string, stderr = ""): string {
  const viewed = stdout === "" ? [] : Viewed.parse(JSON.parse(stdout));
  if (typeof viewed === "string") return viewed;
  if (Array.isArray(viewed)) {
    const several = viewed.length === 0 ? stderr : `it has ${viewed.join(", ")}; name one`;
    throw new UpgradeError(`the registry has no ${what}${several === "" ? "" : `: ${several}`}`);
  }
  const { code, summary } = viewed.error;
  if (code === "E404" || code === "ETARGET") throw new UpgradeError(`the registry has no ${what}`);
  throw new UpgradeError(`the registry cannot be asked for ${what}: ${code}: ${summary}`);
}

/** The part of a `package.json` that is changed. */
const Manifest = z.object({ optionalDependencies: z.record(z.string(), z.string()) });
/** The whole file, in its order. */
const Members = z.record(z.string(), z.unknown());

/** Whether the image and `npm start` take a version by default, so that there is nothing to pin. */
export async function isDefault({ name }: Upgradable, version: string): Promise<boolean> {
  const manifest = Manifest.parse(JSON.parse(await readFile(join(VERSIONS, "../package.json"), "utf8")));
  const pinned = manifest.optionalDependencies[`${name}-linux-x64`];
  return pinned?.replace(/^npm:.*@/, "").replace(/-linux-x64$/, "") === version;
}

/**
 * Pins a version beside the known ones and installs it. Started again after it was interrupted, it goes on.
 *
 * @throws {UpgradeError} if npm cannot; the pins are as they were then
 */
export async function pinVersion(cli: Upgradable, version: string): Promise<void> {
  const paths = { manifest: join(VERSIONS, "package.json"), lock: join(VERSIONS, "package-lock.json") };
  const before = { manifest: await readFile(paths.manifest, "utf8"), lock: await readFile(paths.lock, "utf8") };
  const manifest = addVersion(before.manifest, cli, version);
  try {
    if (manifest !== before.manifest) replaceFile(paths.manifest, manifest);
    if (!isLocked(manifest, before.lock)) {
      npm(["install", "--package-lock-only", "--ignore-scripts", "--omit-lockfile-registry-resolved"], VERSIONS);
    }
    // `npm ci` takes all of it away first: nothing that is there has to be fetched again, or goes while it runs.
    if (!isInstalled(VERSIONS)) npm(["ci"], VERSIONS);
    assertInstalled(cli, version, VERSIONS);
  } catch (error) {
    replaceFile(paths.manifest, before.manifest);
    replaceFile(paths.lock, before.lock);
    throw error;
  }
}

/** In one step, so that Ctrl-C leaves the old file or the new one, and nothing beside it. */
function replaceFile(path: string, content: string): void {
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}

const Lock = z.object({ packages: z.record(z.string(), z.unknown()) });

/** Whether a lock was made for these pins. */
export function isLocked(manifest: string, lock: string): boolean {
  const wanted = Manifest.parse(JSON.parse(manifest)).optionalDependencies;
  const root = Manifest.safeParse(Lock.parse(JSON.parse(lock)).packages[""]).data;
  return isDeepStrictEqual(root?.optionalDependencies, wanted);
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
  assertInstalled(cli, version, directory);
}

/**
 * Checks optional packages: npm leaves them out silently where the registry does not have them.
 *
 * @throws {UpgradeError} if one is missing
 */
export function assertInstalled(cli: Upgradable, version: string, directory: string): void {
  for (const [name, wanted] of Object.entries(packagesOf(cli, version))) {
    if (existsSync(join(directory, "node_modules", name, "package.json"))) continue;
    throw new UpgradeError(`npm did not install ${wanted.replace(/^npm:/, "")}: the registry may not have it`);
  }
}

/** The platform packages hold the native binaries: no wrapper, no install script. */
function packagesOf({ name }: Upgradable, version: string): Record<string, string> {
  if (name === "codex") return { [`codex-${version}`]: `npm:@openai/codex@${version}-linux-x64` };
  return Object.fromEntries(
    ["", "-baseline"].map((build) => [`opencode-${version}${build}`, `npm:opencode-linux-x64${build}@${version}`]),
  );
}

function npm(args: readonly string[], directory: string): void {
  const { status, signal, error } = runNpm(args, directory);
  if (signal === "SIGINT" || signal === "SIGTERM") throw new NpmEnded(signal);
  if (status !== 0)
    throw new UpgradeError(`npm ${args[0]} failed in ${directory} (${error?.message ?? `exit code ${status}`})`);
}
