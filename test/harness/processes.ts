import { readFileSync } from "node:fs";
import { listProcesses } from "../../src/daemon/process/process-table.ts";

/** Living processes that name a text in their arguments, or in their environment. */
export function processesNaming(text: string, where: "cmdline" | "environ" = "cmdline"): number[] {
  return listProcesses().flatMap(({ pid, state }) => {
    try {
      return state !== "Z" && readFileSync(`/proc/${pid}/${where}`, "utf8").includes(text) ? [pid] : [];
    } catch {
      return []; // It ended meanwhile, or is another user's.
    }
  });
}
