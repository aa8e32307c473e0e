import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { TerminalContext } from "./context.ts";

/** The environment variable that marks every process of a shell. */
export const SHELL_MARKER = "TURND_SHELL_ID";

/** The program a shell is: not a login shell, which would put /etc/profile's PATH in place of the one the CLIs have. */
export const SHELL = "/bin/bash";

/** All that a shell's environment holds: the allow-list, who it is, and what kind of terminal the page has. */
export async function shellEnvironment(
  { baseEnv, homeDirectory, runAs }: TerminalContext,
  marker: string,
): Promise<Record<string, string>> {
  const user = (await findUserName(runAs.uid)) ?? basename(homeDirectory);
  return {
    // The page sends UTF-8.
    ...(baseEnv["LC_ALL"] === undefined ? { LANG: "C.UTF-8" } : {}),
    ...baseEnv,
    HOME: homeDirectory,
    USER: user,
    LOGNAME: user,
    SHELL,
    TERM: "xterm-256color",
    COLORTERM: "truecolor",
    [SHELL_MARKER]: marker,
  };
}

/** The name of a uid; undefined where /etc/passwd has none. */
async function findUserName(uid: number): Promise<string | undefined> {
  const users = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  return users.find((fields) => fields[2] === String(uid))?.[0];
}
