import { readFileSync } from "node:fs";
import { listProcesses } from "../../src/turnd/daemon/process/keeper/process-table.ts";

/** Living processes that name a text in their arguments, or anywhere: in those or in their environment. */
export function processesNaming(text: string, where: "arguments" | "anywhere" = "arguments"): number[] {
  // A keeper's environment cannot be seen, and what has an environment of its own may have no arguments that name it.
  const files = where === "arguments" ? ["cmdline"] : ["cmdline", "environ"];
  return listProcesses().flatMap(({ pid, state }) => {
    try {
      const hasText = files.some((file) => readFileSync(`/proc/${pid}/${file}`, "utf8").includes(text));
      return state !== "Z" && hasText ? [pid] : [];
    } catch {
      return []; // It ended meanwhile, or is another user's.
    }
  });
}
