import { once } from "node:events";
import type { TurndClient } from "../../client/turnd-client.ts";
import { createTerminal, type Environment, type Terminal } from "../../../kit/command-line/terminal.ts";
import { safeJsonLine, safeText } from "../../../kit/command-line/text.ts";
import type { Target, TargetOptions } from "./target.ts";

/** The options that every client command takes. */
export interface CommonOptions extends TargetOptions {
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** The context of a command. `signal` is aborted by the first Ctrl-C. */
export interface Context extends Environment {
  readonly terminal: Terminal;
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  readonly target: Target;
  readonly client: TurndClient;
  /** The message for a second Ctrl-C. */
  warnWhenLeft(text: () => string): void;
  /** Writes on stdout, no faster than it is read. */
  print(text: string): Promise<void>;
  /** Writes a text of the model's: as it is where a program reads it, and harmless where a terminal does. */
  printAnswer(text: string): Promise<void>;
  /** Writes one line of JSON on stdout, which no terminal takes for anything else. */
  printJson(body: unknown): Promise<void>;
}

export interface ContextParts {
  readonly environment: Environment;
  readonly options: CommonOptions;
  readonly target: Target;
  readonly client: TurndClient;
  readonly warnWhenLeft: Context["warnWhenLeft"];
}

/** Makes the context of a command. */
export function createContext({ environment, options, target, client, warnWhenLeft }: ContextParts): Context {
  const { stdout } = environment;
  const terminal = createTerminal(environment, options);
  const print = async (text: string): Promise<void> => {
    terminal.clearStatus();
    if (!stdout.write(text)) await once(stdout, "drain");
  };
  return {
    ...environment,
    terminal,
    isJson: options.json === true,
    isQuiet: options.quiet === true,
    target,
    client,
    warnWhenLeft,
    print,
    printAnswer: (text) => print(`${stdout.isTTY ? safeText(text) : text}\n`),
    printJson: (body) => print(`${safeJsonLine(body)}\n`),
  };
}
