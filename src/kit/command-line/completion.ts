import type { Command } from "commander";

/** What a shell is asked to complete. */
export interface CompletionRequest {
  /** Of the word that is being typed. */
  readonly position: number;
  /** All words of the line, the program's name first. */
  readonly words: readonly string[];
}

/** A place of the line that has values of its own: those of an option, or a command's argument. */
export interface CompletionPlace {
  /** Such as `kb upload`; empty for the program itself. */
  readonly command: string;
  /** Such as `--kb-id`; undefined for an argument. */
  readonly option: string | undefined;
  /** Which argument it is, from 0. */
  readonly argument: number;
}

/** In place of a word: it is the name of a file. */
export const FILES = ":files";

/** The shells that there is completion for. */
export const SHELLS = ["bash", "zsh"] as const;

/** The script that makes a shell complete the words of a program, which is asked by `<program> __complete`. */
export function completionScript(name: string, shell: (typeof SHELLS)[number]): string {
  return (shell === "bash" ? BASH : ZSH).replaceAll("PROGRAM", name);
}

/**
 * What the word that is being typed can become, one a line.
 *
 * @param valuesOf - the values of a place that the definition of the command does not list
 */
export async function completeLine(
  program: Command,
  { words, position }: CompletionRequest,
  valuesOf: (place: CompletionPlace) => Promise<readonly string[]>,
): Promise<string> {
  const typed = words[position] ?? "";
  const candidates = await candidatesOf(program, words.slice(1, position), typed, valuesOf);
  return candidates
    .filter((word) => word === FILES || word.startsWith(typed))
    .map((word) => `${word}\n`)
    .join("");
}

async function candidatesOf(
  program: Command,
  before: readonly string[],
  typed: string,
  valuesOf: (place: CompletionPlace) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  let command = program;
  let awaiting: string | undefined;
  let argument = 0;
  for (const word of before) {
    const option = [...command.options, ...program.options].find(({ long, short }) => long === word || short === word);
    if (awaiting !== undefined) awaiting = undefined;
    else if (option !== undefined)
      awaiting = option.required || option.optional ? (option.long ?? undefined) : undefined;
    else {
      const next = command.commands.find((one) => one.name() === word);
      if (next === undefined) argument += 1;
      else [command, argument] = [next, 0];
    }
  }
  const path = pathOf(command);
  if (awaiting !== undefined) {
    const choices = command.options.find((option) => option.long === awaiting)?.argChoices;
    return choices ?? valuesOf({ command: path, option: awaiting, argument });
  }
  if (typed.startsWith("-")) {
    const options = [...new Set([...command.options, ...program.options])];
    return [...options.flatMap(({ long, hidden }) => (long === undefined || hidden ? [] : [long])), "--help"];
  }
  const names = command.commands.map((one) => one.name());
  if (names.length > 0) return command === program && before.length === 0 ? [...names, "help"] : names;
  const last = command.registeredArguments.at(-1);
  const declared = command.registeredArguments[argument] ?? (last?.variadic === true ? last : undefined);
  return declared?.argChoices ?? valuesOf({ command: path, option: undefined, argument });
}

function pathOf(command: Command): string {
  if (command.parent === null) return "";
  return `${pathOf(command.parent)} ${command.name()}`.trim();
}

const BASH = `# Completion of PROGRAM for bash.
_PROGRAM() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    if [ "$line" = ":files" ]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")
    else
      COMPREPLY+=("$line")
    fi
  done < <("\${COMP_WORDS[0]}" __complete "$COMP_CWORD" "\${COMP_WORDS[@]}" 2>/dev/null)
}
complete -F _PROGRAM PROGRAM
`;

const ZSH = `#compdef PROGRAM
# Completion of PROGRAM for zsh.
_PROGRAM() {
  local -a answers
  answers=("\${(@f)$("\${words[1]}" __complete $((CURRENT - 1)) "\${words[@]}" 2>/dev/null)}")
  if [[ "\${answers[1]}" == ":files" ]]; then
    _files
  elif [[ -n "\${answers[1]}" ]]; then
    compadd -- "\${answers[@]}"
  fi
}
# Loaded from $fpath it is the completion itself; read by a shell it only registers.
if [[ "\${funcstack[1]}" == "_PROGRAM" ]]; then
  _PROGRAM "$@"
else
  compdef _PROGRAM PROGRAM
fi
`;
