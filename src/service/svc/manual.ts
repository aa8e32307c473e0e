import type { Command, Help } from "commander";
import { widthOf } from "../../kit/command-line/text.ts";

const WIDEST = 100;
const INDENT = "       ";

const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  svc: [
    "svc login --url https://svc.example.org",
    "svc kb list",
    "svc kb upload ./papers --kb-id kb_…",
    "svc kb parse --kb-id kb_… --pending --wait && svc kb index --kb-id kb_… --pending --wait",
    "svc kb query --kb-id kb_… what makes a panel flutter",
  ],
  "svc login": [
    "svc login --url https://svc.example.org",
    "svc login --url https://svc.example.org --api-key-stdin < key.txt",
    "svc login --remote staging --url https://staging.example.org",
  ],
  "svc kb upload": [
    "svc kb upload ./papers --kb-id kb_… --include-ext pdf,md",
    "svc kb upload ./papers --kb-id kb_… --dry-run",
  ],
  "svc kb query": [
    'svc kb query --kb-id kb_… --top-k 3 "panel flutter"',
    "svc kb query --kb-id kb_… --json panel flutter",
  ],
  "svc kb open": [
    "svc kb open --kb-id kb_… --file-id file_… --offset 120 --limit 40",
    "svc kb open --kb-id kb_… --file-id file_… --all --plain > paper.md",
  ],
  "svc kb find": [
    "svc kb find --kb-id kb_… --file-id file_… --pattern flutter --pattern divergence",
    "svc kb find --kb-id kb_… --file-id file_… --regex --pattern 'Mach +[0-9.]+'",
  ],
  "svc kb parse": ["svc kb parse --kb-id kb_… --pending --wait"],
  "svc kb index": ["svc kb index --kb-id kb_… --pending --wait"],
  "svc completion": [
    "svc completion bash > ~/.local/share/bash-completion/completions/svc",
    "svc completion zsh > ~/.zfunc/_svc   # a directory of $fpath",
  ],
};

const EXIT_STATUS = [
  ["0", "done"],
  ["1", "failed: a fault of the service, files that failed, nothing found by find"],
  ["2", "wrong arguments or configuration"],
  ["3", "not logged in, or the key is refused"],
  ["4", "not permitted"],
  ["5", "not found"],
  ["6", "not reachable, or no answer in time"],
  ["130", "interrupted"],
] as const;

const ENVIRONMENT = [
  ["SVC_URL", "address of the service; a stored key goes only to the address it was stored for"],
  ["SVC_API_KEY", "key to use instead of a login"],
  ["NO_COLOR", "no emphasis"],
  ["FORCE_COLOR", "emphasis also where the output is no terminal"],
  ["XDG_CONFIG_HOME", "directory of svc/config.toml, the logins (mode 0600); otherwise ~/.config"],
  ["XDG_STATE_HOME", "directory of svc/uploads, what uploads have done; otherwise ~/.local/state"],
] as const;

/** The help of a command in the sections of a manual page. */
export function formatManual(command: Command, helper: Help): string {
  const path = pathOf(command);
  const columns = Math.min(helper.helpWidth ?? 80, WIDEST);
  const own = helper.visibleOptions(command);
  const global = helper.visibleGlobalOptions(command);
  const described = (items: readonly (readonly [string, string])[]): string => list(items, columns);
  const sections: readonly (readonly [string, string])[] = [
    ["NAME", paragraph(`${path} - ${command.description()}`, columns)],
    ["SYNOPSIS", paragraph(helper.commandUsage(command), columns)],
    [
      "COMMANDS",
      described(helper.visibleCommands(command).map((one) => [helper.subcommandTerm(one), one.description()])),
    ],
    [
      "ARGUMENTS",
      described(helper.visibleArguments(command).map((one) => [helper.argumentTerm(one), one.description])),
    ],
    ["OPTIONS", described(own.map((one) => [helper.optionTerm(one), helper.optionDescription(one)]))],
    ["GLOBAL OPTIONS", described(global.map((one) => [helper.optionTerm(one), helper.optionDescription(one)]))],
    ["EXAMPLES", (EXAMPLES[path] ?? []).map((line) => `${INDENT}${line}`).join("\n")],
    ...(command.parent === null
      ? ([
          ["EXIT STATUS", described(EXIT_STATUS)],
          ["ENVIRONMENT", described(ENVIRONMENT)],
        ] as const)
      : []),
  ];
  return sections
    .filter(([, text]) => text !== "")
    .map(([title, text]) => `${title}\n${text}\n`)
    .join("\n");
}

/** `svc kb upload`. */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

function list(items: readonly (readonly [string, string])[], columns: number): string {
  const width = Math.max(0, ...items.map(([term]) => term.length)) + 2;
  return items
    .map(([term, text]) => {
      const [first = "", ...rest] = wrap(text, columns - INDENT.length - width);
      const hanging = rest.map((line) => `\n${INDENT}${" ".repeat(width)}${line}`).join("");
      return `${INDENT}${term.padEnd(width)}${first}${hanging}`;
    })
    .join("\n");
}

function paragraph(text: string, columns: number): string {
  return wrap(text, columns - INDENT.length)
    .map((line) => `${INDENT}${line}`)
    .join("\n");
}

function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && widthOf(line) + 1 + widthOf(word) > Math.max(20, columns)) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
