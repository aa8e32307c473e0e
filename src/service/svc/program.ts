import { Command } from "commander";
import { addKnowledgeCommands } from "./commands/kb.ts";
import type { LoginOptions } from "./commands/login.ts";
import type { CommonOptions, Context } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { formatManual } from "./manual.ts";
import type { Run } from "./commands/run-command.ts";

export interface ProgramOptions {
  readonly version: string;
  readonly createContext: (options: CommonOptions) => Context;
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
  readonly onEnd: (code: ExitCode) => void;
  readonly columns: number;
}

/** Builds the command line. What commands do is loaded when it is needed. */
export function createProgram(options: ProgramOptions): Command {
  const program = new Command("svc");
  const run: Run = async (command, ...rest) => {
    const code = await command(options.createContext(program.opts<CommonOptions>()), ...rest);
    options.onEnd(code ?? EXIT.done);
  };
  // Before the commands: they take these settings over.
  program
    .exitOverride()
    .configureOutput({
      writeOut: options.write,
      writeErr: options.writeError,
      outputError: () => undefined,
      getOutHelpWidth: () => options.columns,
      getErrHelpWidth: () => options.columns,
    })
    .configureHelp({ formatHelp: formatManual, showGlobalOptions: true })
    .helpOption("-h, --help", "show the manual of a command")
    .helpCommand("help [command]", "show the manual of a command")
    .description("command-line client of the agent service: logs in, uploads documents and asks knowledge bases")
    .version(options.version, "-V, --version", "print the version")
    .option("--remote <name>", "the login to use, or to make; otherwise the current one")
    .option("--json", "print one JSON document, the service's own answer where there is one")
    .option("-q, --quiet", "print only the answer: no notices, no progress")
    .option("--insecure", "allow plain http beyond this machine");

  addLogin(program, run);
  addKnowledgeCommands(program.command("kb").description("knowledge bases: upload, parse, index, ask"), run);
  addTasks(program.command("task").description("background work of the service"), run);
  program
    .command("completion")
    .description("print the completion script of a shell")
    .argument("<shell>", "bash or zsh")
    .action(async (shell: string) => (await import("./completion.ts")).printScript(options.write, shell));
  return program;
}

function addLogin(program: Command, run: Run): void {
  program
    .command("login")
    .description("log in, by a page in a browser or with an API key")
    .option("--url <address>", "address of the service")
    .option("--api-key-stdin", "read an API key from stdin instead of asking in a browser")
    .option("--no-browser", "only print the address of the page")
    .action(async (options: LoginOptions) => run((await import("./commands/login.ts")).login, options));
  program
    .command("logout")
    .description("remove a login, and revoke the key that it made")
    .option("--local-only", "do not revoke the key")
    .action(async (options: { localOnly?: boolean }) => run((await import("./commands/logout.ts")).logout, options));
  program
    .command("whoami")
    .description("show who the service takes you for")
    .action(async () => run((await import("./commands/whoami.ts")).whoami));

  const remote = program.command("remote").description("the services that you have logged in to");
  remote
    .command("list")
    .description("list the logins")
    .action(async () => run((await import("./commands/remote.ts")).listRemotes));
  remote
    .command("use")
    .description("use another login from now on")
    .argument("<name>", "a login")
    .action(async (name: string) => run((await import("./commands/remote.ts")).useRemote, name));
  remote
    .command("remove")
    .description("remove a login without asking its service; `svc logout` also revokes the key")
    .argument("<name>", "a login")
    .action(async (name: string) => run((await import("./commands/remote.ts")).removeRemote, name));
}

function addTasks(task: Command, run: Run): void {
  task
    .command("show")
    .description("show a task")
    .argument("<id>", "a task")
    .action(async (id: string) => run((await import("./commands/task.ts")).showTask, id));
  task
    .command("wait")
    .description("wait for a task's end; the exit code is 1 where it, or a file of it, failed")
    .argument("<id>", "a task")
    .action(async (id: string) => run((await import("./commands/task.ts")).waitTask, id));
  task
    .command("cancel")
    .description("ask for a task's end; safe to repeat")
    .argument("<id>", "a task")
    .action(async (id: string) => run((await import("./commands/task.ts")).cancelTask, id));
}
