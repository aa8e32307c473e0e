import type { Configuration, ConfigurationCheck } from "../../contract/configuration.ts";
import { readDetails } from "./details.ts";

/** The configuration is read, strictly, before the prompt, which is missing. Measured on 0.139.0. */
const REACHED_PROMPT = /No prompt provided via stdin/;
const UNKNOWN_FIELD = /unknown configuration field `[^`]+`/;
/** What the parser says, without the lines of the file that it shows below. */
const AT = /config\.toml:(\d+:\d+: [^\n]+)/;

/** `--strict-config` is known only to `exec`. */
export function checkConfiguration(configuration: Configuration): ConfigurationCheck {
  const isGiven = readDetails(configuration).source === "toml";
  return {
    unacceptable: "[turnd: no CLI reads this and goes on",
    args: ["exec", "--strict-config", "--skip-git-repo-check", "-"],
    judge({ code, stderr }) {
      if (REACHED_PROMPT.test(stderr)) return undefined;
      const reason = AT.exec(stderr)?.[1] ?? /^Error: (.+)$/m.exec(stderr)?.[1] ?? `exit code ${code ?? "none"}`;
      // A file that is written as given runs without the switch: there the CLI passes over what it does not know.
      return { message: reason, keepsFromRunning: !(isGiven && UNKNOWN_FIELD.test(stderr)) };
    },
  };
}
