/**
 * Every name a binary may go by: the one it has here, which decides where files are, and the one it was built with.
 *
 * Which variables and directories a binary reads is compiled into it, whatever the file is called: both get what is meant for it,
 * so that a renamed binary does not run with a configuration that turnd did not write.
 */
export function namesOf(cliName: string, builtAs: string): string[] {
  return [...new Set([cliName, builtAs])];
}

/** A variable of a CLI's, such as `CODEX_HOME`. */
export function variableOf(name: string, end: string): string {
  return `${name.toUpperCase().replaceAll("-", "_")}_${end}`;
}
