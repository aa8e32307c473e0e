import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { TerminalContext } from "./context.ts";

/** The environment variable that marks every process of a shell. */
export const SHELL_MARKER = "TURND_SHELL_ID";

/** The program of a shell. Not a login shell: that would replace the CLIs' PATH by the one of /etc/profile. */
export const SHELL = "/bin/bash";

/** The whole environment of a shell: the allow-list, the user, and the kind of terminal that the page is. */
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
