import type { Place, Scene } from "./scene.ts";
import type { CliId } from "./scene.ts";

/** One version of a CLI. */
export interface Cli {
  readonly executor: CliId;
  readonly version: string;
  readonly binary: string;
  /** Directory of `rg`, which CLI A looks up on PATH. */
  readonly toolsDirectory?: string;
}

/** Paths of a scene that is played. */
export interface Stage extends Place {
  readonly cli: Cli;
  /** Holds everything of the run. */
  readonly base: string;
  /** What the CLI keeps for itself, and its configuration in it or beside it. */
  readonly store: string;
  readonly config: string;
}

/** What stdout shows of a run, read without any of turnd's translation. */
export interface Printed {
  readonly session: string | null;
  readonly text: string | null;
  readonly tools: number;
  readonly usage: object | null;
}

/** How one CLI is started for a scene, and what it prints. */
export interface Driver {
  /** Below the home. */
  readonly paths: { readonly store: string; readonly config: string };
  /** Between the moment of a stop and the signal: what CLI A prints late. */
  readonly settleMs: number;
  /** Writes its configuration. */
  prepare(
    scene: Scene,
    stage: Stage,
    resume: string | undefined,
  ): { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> };
  readPrinted(stdout: string): Printed;
}

/** Whatever a CLI looks up by itself meets a closed port. */
export const NO_INTERNET = {
  HTTP_PROXY: "http://127.0.0.1:9",
  HTTPS_PROXY: "http://127.0.0.1:9",
  NO_PROXY: "127.0.0.1,.invalid",
};
