import type { CliFeatures } from "../../executors/contract/cli-features.ts";

/** The binary of a CLI, or why there is none. */
export type LocatedCli =
  | {
      readonly ok: true;
      readonly path: string;
      readonly version: string;
      readonly warning?: string;
      /** What it answered to the executor's `featureQuestion`. */
      readonly features?: CliFeatures;
      /** What the executor's `codeGuard` came to in this binary; absent where there is none, or it is not wanted. */
      readonly guard?: GuardState;
    }
  | { readonly ok: false; readonly reason: string };

/** `failed`: the binary runs it and ends, `ignored`: it goes on without. */
export type GuardState = "proven" | "failed" | "ignored";
