import image from "../../sandbox/package.json" with { type: "json" };
import others from "../../sandbox/versions/package.json" with { type: "json" };
import { compareVersions } from "../../src/turnd/daemon/doctor/clis.ts";

/** The versions of a CLI that are pinned, oldest first. */
export interface CliVersions {
  readonly all: readonly string[];
  /** The version of the image. */
  readonly image: string;
  readonly newest: string;
}

/** Its packages' names in `sandbox/versions`. */
export const CLI_VERSIONS: Readonly<Record<"opencode" | "codex", CliVersions>> = {
  opencode: list("opencode", image.optionalDependencies["opencode-linux-x64"]),
  codex: list("codex", image.optionalDependencies["codex-linux-x64"]),
};

function list(name: string, pinned: string): CliVersions {
  const own = numbersOf(pinned);
  const named = Object.keys(others.optionalDependencies).filter((key) => key.startsWith(`${name}-`));
  const all = [...new Set([own, ...named.map(numbersOf)])].toSorted(compareVersions);
  return { all, image: own, newest: all.at(-1) ?? own };
}

function numbersOf(pinned: string): string {
  const [version] = /\d+\.\d+\.\d+/.exec(pinned) ?? [];
  if (version === undefined) throw new Error(`no version in ${pinned}`);
  return version;
}
