import type { Command } from "commander";
import {
  completeLine,
  completionScript,
  FILES,
  SHELLS,
  type CompletionRequest,
} from "../../kit/command-line/completion.ts";
import { Bases } from "./answers.ts";
import { createClient, readAnswer } from "./client.ts";
import { configFile, readConfig } from "./config.ts";
import type { Context } from "./context.ts";
import { SvcError, usageError } from "./exit-codes.ts";
import { chooseTarget } from "./target.ts";

/** For the service's answer; a person at the shell should not wait longer. */
const ANSWER_MS = 1_500;

/** Prints what makes a shell complete the words of svc. */
export function printScript(write: (text: string) => void, shell: string): void {
  const known = SHELLS.find((one) => one === shell);
  if (known === undefined) throw usageError(`there is completion for bash and zsh, not for ${JSON.stringify(shell)}`);
  write(completionScript("svc", known));
}

/** What the word that is being typed can become: one a line; `:files` where it is a file. */
export function complete(program: Command, context: Context, request: CompletionRequest): Promise<string> {
  return completeLine(program, request, async ({ command, option }) => {
    if (option === "--kb-id") return listBases(context);
    if (option === "--remote" || (option === undefined && /^remote (use|remove)$/.test(command))) {
      return listRemotes(context);
    }
    if (option !== undefined) return [];
    if (command === "kb upload") return [FILES];
    return command === "completion" ? SHELLS : [];
  });
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
