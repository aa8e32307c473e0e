import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { beforeAll, expect, inject, test } from "vitest";
import { temporaryDirectory } from "../../harness/temporary.ts";

const cleanUps: (() => void)[] = [];
let directory = "";

beforeAll(() => {
  directory = temporaryDirectory((cleanUp) => cleanUps.push(cleanUp));
  mkdirSync(join(directory, "bin"));
  writeFileSync(join(directory, "bin/turnd"), `#!/bin/sh\nexec "${process.execPath}" "${inject("turnd")}" "$@"\n`);
  chmodSync(join(directory, "bin/turnd"), 0o755);
  writeFileSync(join(directory, "recording.jsonl"), "");
  return () => cleanUps.forEach((cleanUp) => cleanUp());
});

const environment = () => ({
  PATH: `${join(directory, "bin")}:/usr/bin:/bin`,
  HOME: directory,
  // No turnd listens there: ids are completed with none.
  TURND_URL: "http://127.0.0.1:9",
});

/** What bash itself makes of a line that ends where the cursor is. */
async function inBash(line: string): Promise<string[]> {
  const script = `source <(turnd completion bash); COMP_WORDS=(${line} ); COMP_WORDS+=(""); COMP_LINE="${line}"
    [[ "${line}" == *" " ]] || unset 'COMP_WORDS[-1]'
    COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _turnd; printf '%s\\n' "\${COMPREPLY[@]}"; complete -p turnd >&2`;
  const { stdout, stderr } = await execa("bash", ["--norc", "-c", script], {
    cwd: directory,
    env: environment(),
    extendEnv: false,
  });
  expect(stderr).toContain("complete -F _turnd turnd");
  return stdout.split("\n");
}

const CASES: readonly (readonly [string, readonly string[]])[] = [
  ["turnd pro", ["probe"]],
  ["turnd run --executor co", ["codex"]],
  ["turnd run --mode ", ["execute", "plan", "review"]],
  ["turnd sessions ", ["list", "create", "delete"]],
  ["turnd files ", ["list", "get", "put", "delete"]],
  ["turnd files put session-1 rec", ["recording.jsonl"]],
  ["turnd files get session-1 data/in.csv rec", ["recording.jsonl"]],
  ["turnd files get session-1 rec", [""]],
  ["turnd serve --scr", ["--scripted"]],
  ["turnd doctor --", ["--json", "--version", "--help"]],
  ["turnd --v", ["--version"]],
  ["turnd he", ["help"]],
  ["turnd help se", ["serve", "sessions"]],
  ["turnd completion z", ["zsh"]],
  ["turnd replay rec", ["recording.jsonl"]],
  ["turnd show ", [""]],
];

test.each(CASES)("bash completes `%s`", async (line, wanted) => {
  expect(await inBash(line)).toEqual(wanted);
});

test.skipIf(!existsSync("/usr/bin/zsh"))("zsh completes words on a terminal of its own", async () => {
  // As a person does: a key each, in an interactive shell that has loaded the script from $fpath.
  await execa("sh", ["-c", "mkdir -p functions && turnd completion zsh > functions/_turnd"], {
    cwd: directory,
    env: environment(),
    extendEnv: false,
  });
  const driver = `
    zmodload zsh/zpty
    zpty -b shell 'TERM=dumb zsh -f -i'
    zpty -w shell 'PS1=READY; fpath=(functions $fpath); autoload -Uz compinit; compinit -u -D; unsetopt zle_bracketed_paste; print LOADED'
    zpty -r shell out '*LOADED*READY'
    zpty -w -n shell $'echo turnd; turnd run --executor co\t'
    zpty -r shell out '*codex*' && print COMPLETED
    zpty -d shell`;
  const { stdout } = await execa("zsh", ["-f", "-c", driver], {
    cwd: directory,
    env: environment(),
    extendEnv: false,
    timeout: 60_000,
  });
  expect(stdout).toContain("COMPLETED");
});
