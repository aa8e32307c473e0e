import type { ConfigurationCheck } from "../../contract/configuration.ts";
import { stripEscapes } from "../../contract/json-line.ts";

/** Prints the merged configuration, key and all: its stdout is shown to no one. Source: docs/contracts/cli-a.md §4, §13. */
export const CONFIGURATION_CHECK: ConfigurationCheck = {
  unacceptable: "{turnd: no CLI reads this and goes on",
  args: ["debug", "config"],
  judge({ code, stderr }) {
    if (code === 0) return undefined;
    const plain = stripEscapes(stderr);
    const reason = /^\s*Error: (.+)$/m.exec(plain)?.[1] ?? `exit code ${code ?? "none"}`;
    const keys = [...plain.matchAll(/^\s*↳ (.+)$/gm)].map(([, key = ""]) => key.trim());
    return { message: [reason.trim(), ...keys].join(" "), keepsFromRunning: true };
  },
};
