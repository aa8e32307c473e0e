import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { REPOSITORY } from "../harness/temporary.ts";

/** An empty directory in which the packages are installed as a user installs them, with the examples in it. */
export interface Installed {
  readonly directory: string;
  /** The tarballs. */
  readonly turnd: string;
  readonly client: string;
  remove(): void;
}

/** Makes the packages as a release does, and installs them with npm. */
export async function installPackages(): Promise<Installed> {
  const directory = mkdtempSync(join(tmpdir(), "turnd-packages-"));
  const { stdout } = await execa(process.execPath, [join(REPOSITORY, "scripts/pack.ts"), join(directory, "packages")]);
  const [turnd = "", client = ""] = stdout.split("\n");
  writeFileSync(join(directory, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--prefer-offline"];
  await execa("npm", ["install", ...quiet, turnd, client], { cwd: directory, env: { NODE_ENV: "development" } });
  cpSync(join(REPOSITORY, "examples"), directory, { recursive: true });
  return { directory, turnd, client, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

/** The files of a tarball, by their paths in the package. */
export async function filesOf(tarball: string): Promise<string[]> {
  const { stdout } = await execa("tar", ["--list", "--file", tarball]);
  return stdout.split("\n").map((path) => path.replace(/^package\//, ""));
}
