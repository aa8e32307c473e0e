import type { Command } from "commander";
import { Bases } from "./answers.ts";
import { createClient, readAnswer } from "./client.ts";
import { configFile, readConfig } from "./config.ts";
import type { Context } from "./context.ts";
import { SvcError, usageError } from "./exit-codes.ts";
import { chooseTarget } from "./target.ts";

const BASH = `# Completion of svc for bash.
_svc() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    if [ "$line" = ":files" ]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")
    else
      COMPREPLY+=("$line")
    fi
  done < <(svc __complete "$COMP_CWORD" "\${COMP_WORDS[@]}" 2>/dev/null)
}
complete -F _svc svc
`;

const ZSH = `#compdef svc
# Completion of svc for zsh.
_svc() {
  local -a answers
  answers=("\${(@f)$(svc __complete $((CURRENT - 1)) "\${words[@]}" 2>/dev/null)}")
  if [[ "\${answers[1]}" == ":files" ]]; then
    _files
  elif [[ -n "\${answers[1]}" ]]; then
    compadd -- "\${answers[@]}"
  fi
}
# Loaded from $fpath it is the completion itself; read by a shell it only registers.
if [[ "\${funcstack[1]}" == "_svc" ]]; then
  _svc "$@"
else
  compdef _svc svc
fi
`;

/** For the service's answer; a person at the shell should not wait longer. */
const ANSWER_MS = 1_500;

/** Prints what makes a shell complete the words of svc. */
export function printScript(write: (text: string) => void, shell: string): void {
  if (shell === "bash") write(BASH);
  else if (shell === "zsh") write(ZSH);
  else throw usageError(`there is completion for bash and zsh, not for ${JSON.stringify(shell)}`);
}

export interface CompletionRequest {
  /** Of the word that is being typed. */
  readonly position: number;
  /** All words of the line, `svc` first. */
  readonly words: readonly string[];
}

/** What the word that is being typed can become: one a line; `:files` where it is a file. */
export async function complete(program: Command, context: Context, request: CompletionRequest): Promise<string> {
  const typed = request.words[request.position] ?? "";
  const candidates = await candidatesOf(program, context, request.words.slice(1, request.position), typed);
  return candidates
    .filter((word) => word === ":files" || word.startsWith(typed))
    .map((word) => `${word}\n`)
    .join("");
}

async function candidatesOf(
  program: Command,
  context: Context,
  before: readonly string[],
  typed: string,
): Promise<readonly string[]> {
  let command = program;
  let awaiting: string | undefined;
  for (const word of before) {
    const option = [...command.options, ...program.options].find(({ long, short }) => long === word || short === word);
    if (awaiting !== undefined) awaiting = undefined;
    else if (option !== undefined)
      awaiting = option.required || option.optional ? (option.long ?? undefined) : undefined;
    else command = command.commands.find((one) => one.name() === word) ?? command;
  }
  if (awaiting !== undefined) return valuesOf(command, context, awaiting);
  if (typed.startsWith("-"))
    return [...command.options, ...program.options].flatMap(({ long, hidden }) =>
      long === undefined || hidden ? [] : [long],
    );
  const names = command.commands.map((one) => one.name());
  if (names.length > 0) return names;
  const path = `${command.parent?.name() ?? ""} ${command.name()}`;
  if (path === "kb upload") return [":files"];
  if (path === "remote use" || path === "remote remove") return listRemotes(context);
  return path === "svc completion" ? ["bash", "zsh"] : [];
}

async function valuesOf(command: Command, context: Context, long: string): Promise<readonly string[]> {
  if (long === "--kb-id") return listBases(context);
  if (long === "--remote") return listRemotes(context);
  return command.options.find((option) => option.long === long)?.argChoices ?? [];
}

async function listRemotes({ env }: Context): Promise<readonly string[]> {
  return quietly(async () => Object.keys((await readConfig(configFile(env))).remotes));
}

async function listBases({ env, options, terminal }: Context): Promise<readonly string[]> {
  return quietly(async () => {
    const target = await chooseTarget(env, options, terminal);
    const client = createClient({ ...target, signal: AbortSignal.timeout(ANSWER_MS) });
    const path = "/api/knowledge/databases/external";
    const answer = await client.call({ method: "GET", path, query: { limit: 100 } });
    return readAnswer(Bases, answer).databases.map(({ kb_id: id }) => id);
  });
}

/** Nothing is completed where nothing can be asked: a line that is being typed is no place for an error. */
async function quietly(list: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await list();
  } catch (error) {
    if (error instanceof SvcError) return [];
    throw error;
  }
}
