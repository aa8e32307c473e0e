import { join } from "node:path";
import { keepCertificatesChecked } from "../kit/command-line/checked-certificates.ts";
import { runTurnd } from "./turnd.ts";
import type { Host } from "./commands/host.ts";

export interface ProgramOptions extends Pick<Host, "onListening" | "onWork" | "whyNoCompiledCode"> {
  /** Holds `sandbox/`. */
  readonly root: string;
}

/** Runs turnd as this process: with its arguments, its environment and the CLIs of the registry. */
export async function runProgram({ root, ...host }: ProgramOptions): Promise<void> {
  process.exitCode = await runTurnd({
    ...host,
    args: process.argv.slice(2),
    env: keepCertificatesChecked(process.env),
    exit: (code) => process.exit(code),
    sandboxDirectory: join(root, "sandbox"),
    loadExecutors: async () => (await import("./daemon/executors/registry.ts")).EXECUTORS,
  });
}
