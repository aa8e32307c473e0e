import { nearest } from "../../kit/command-line/nearest.ts";
import type { Executor } from "../daemon/executors/contract/executor.ts";
import { describeRefusedVariables } from "../daemon/passed-variables.ts";
import { namesIn, type Settings } from "../daemon/settings.ts";
import { SettingsSchema } from "../daemon/settings-schema.ts";

/** Variables of other programs that are given the same environment: the image's start and its front, turnd's clients. */
const OTHERS = [
  "TURND_ADOPT_VOLUMES",
  "TURND_PROXY_ACCESS",
  "TURND_PROXY_PORTS",
  "TURND_EXECUTOR",
  "TURND_URL",
  // Set in processes of turns and shells: turnd may be started in one.
  "TURND_TURN_ID",
  "TURND_SHELL_ID",
];

/**
 * Variables that have no effect: those that look like turnd's, each with the name that may be meant, and those that turnd
 * keeps from the CLIs, each with the reason.
 *
 * No value is quoted.
 */
export function describeUselessVariables(env: Settings["env"], executors: readonly Executor[]): string[] {
  const known = [
    ...Object.keys(SettingsSchema.shape),
    ...OTHERS,
    ...executors.flatMap(({ variablePrefix: prefix, variables }) => [
      `${prefix}_NAME`,
      `${prefix}_BIN`,
      ...variables.map(({ name }) => name),
    ]),
  ];
  const prefixes = ["TURND_", ...executors.map(({ variablePrefix }) => `${variablePrefix}_`)];
  const values = Object.values(env).join("\n");
  const unknown = Object.keys(env)
    .toSorted()
    .flatMap((name) => {
      const prefix = prefixes.find((candidate) => name.startsWith(candidate));
      // A variable that another one names has an effect: it is a key, or is passed to the CLIs.
      if (prefix === undefined || known.includes(name) || values.includes(name)) return [];
      const alike = known.filter((one) => one.startsWith(prefix)).map((one) => one.slice(prefix.length));
      const meant = nearest(name.slice(prefix.length), alike);
      const what = `${name} is no variable of turnd and has no effect`;
      if (meant !== undefined) return [`${what}: did you mean ${prefix}${meant}?`];
      return prefix === "TURND_" ? [what] : [];
    });
  return [...unknown, ...describeRefusedVariables(env, namesIn(env["TURND_PASS_ENV"]))];
}
