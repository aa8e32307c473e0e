import { Option, type Command } from "commander";
import { nearest } from "../../../kit/command-line/nearest.ts";
import { wholeNumber } from "../../../kit/command-line/whole-number.ts";
import { Mode } from "../../protocol/executors.ts";
import { TurnStatus } from "../../protocol/turns.ts";
import type { CommonOptions, Context } from "./context.ts";
import { EXIT, EXIT_CODES, type ExitCode } from "./exit-codes.ts";
import { addCommonOptions, addDeny, addLostAfter } from "./options.ts";
import type { Process } from "./run-command.ts";
import type { GetFileOptions, PutFileOptions } from "./files.ts";
import type { RunOptions } from "./run-turn.ts";
import type { CreateSessionOptions } from "./sessions.ts";
import type { TailOptions } from "./tail-turn.ts";
import type { TurnsOptions } from "./list-turns.ts";
import type { WantedOptions } from "./read-wanted.ts";

/** Runs a command once its arguments are valid. */
export type Perform = (work: (self: Process) => Promise<ExitCode>) => Promise<void>;

const TARGET_HINT = [
  "",
  "The turnd is that of --url, TURND_URL or ~/.config/turnd/client.toml (url, token or token_file), and otherwise this machine's.",
].join("\n");

/** Adds the commands that ask a turnd: `run`, `turns`, `show`, `tail`, `cancel`, `sessions`, `files`. */
export function defineClientCommands(program: Command, perform: Perform): void {
  const run = (
    options: CommonOptions,
    command: (context: Context) => Promise<ExitCode>,
    readerGone: ExitCode = EXIT.done,
  ): Promise<void> =>
    // Loaded when one of them runs, so that no other command loads the client.
    perform(async (self) => {
      const { runClientCommand } = await import("./run-command.ts");
      return runClientCommand(self, { common: options, readerGone }, command);
    });
  addRun(program, run);
  addTurns(program, run);
  addSessions(program, run);
  addFiles(program, run);
}

type Run = (
  options: CommonOptions,
  command: (context: Context) => Promise<ExitCode>,
  readerGone?: ExitCode,
) => Promise<void>;

function addRun(program: Command, run: Run): void {
  const command = program
    .command("run")
    .description("run a turn and show its events as they come; Ctrl-C cancels it")
    .argument("<prompt...>", "what is to be done; - reads it from standard input")
    .option("--executor <name>", "the CLI that runs it; otherwise TURND_EXECUTOR, or the only one that can")
    .option("--session <id>", "the session to continue, or with --executor the id of a new one")
    .addOption(new Option("--mode <mode>", "what it may do").choices(Mode.options))
    .option("--model <model>", "the model, where it is not the configured one")
    .option("--effort <effort>", "how long the model thinks")
    .option("--agent <agent>", "the CLI's own agent")
    .option("--workspace <directory>", "where it works, an absolute path of the turnd's machine")
    .option("--timeout <seconds>", "of the whole turn; 0 is none", wholeNumber(0, 86_400))
    .addOption(
      new Option("--queue <policy>", "what becomes of it while its session is busy").choices([
        "enqueue",
        "reject",
        "steer",
      ]),
    )
    .option("--ask", "asks at the terminal before anything is done; only of turns that are interactive")
    .option("--request-id <id>", "one id is one turn, however often it is submitted")
    .option("--diff", "print what it has changed in its workspace, as a patch")
    .option("--detach", "print the turn's id and leave");
  addDeny(command).option("--full", "print all of a tool's output");
  addCommonOptions(addLostAfter(command))
    .addHelpText("after", `${TARGET_HINT}\n${EXIT_CODES}`)
    .action((prompt: string[], options: RunOptions & CommonOptions) =>
      run(
        options,
        async (context) => (await import("./run-turn.ts")).runTurn(context, prompt, options),
        EXIT.readerGone,
      ),
    );
}

function addTurns(program: Command, run: Run): void {
  addCommonOptions(
    program
      .command("turns")
      .description("list turns, the newest first")
      .option("--session <id>", "only of this session")
      .addOption(new Option("--status <status>", "only in this state").choices(TurnStatus.options))
      .option("--limit <number>", "how many", wholeNumber(1, 1_000_000), 20)
      .option("--all", "as many as there are"),
  )
    .addHelpText("after", TARGET_HINT)
    .action((options: TurnsOptions & CommonOptions) =>
      run(options, async (context) => (await import("./list-turns.ts")).listTurns(context, options)),
    );
  addCommonOptions(program.command("show").description("show a turn, and its result once it has ended"))
    .argument("<turn_id>", "a turn")
    .option("--diff", "print what it changed instead, for `git apply`; of a turn that was run with a diff")
    .addHelpText("after", TARGET_HINT)
    .action((turnId: string, options: CommonOptions & { readonly diff?: boolean }) =>
      run(options, async (context) =>
        options.diff === true
          ? (await import("./show-diff.ts")).showTurnDiff(context, turnId)
          : (await import("./show-turn.ts")).showTurn(context, turnId),
      ),
    );
  const tail = program
    .command("tail")
    .description("show a turn's events and follow it to its end; to leave changes nothing")
    .argument("<turn_id>", "a turn")
    .option("--after <seq>", "show the events behind this one", wholeNumber(0, 1e12), 0)
    .option("--full", "print all of a tool's output");
  addCommonOptions(addLostAfter(tail))
    .addHelpText("after", `${TARGET_HINT}\n${EXIT_CODES}`)
    .action((turnId: string, options: TailOptions & CommonOptions) =>
      run(options, async (context) => (await import("./tail-turn.ts")).tailTurn(context, turnId, options)),
    );
  addCommonOptions(program.command("cancel").description("end a turn and wait until no process of it is left"))
    .argument("<turn_id>", "a turn")
    .addHelpText("after", TARGET_HINT)
    .action((turnId: string, options: CommonOptions) =>
      run(options, async (context) => (await import("./cancel-turn.ts")).cancel(context, turnId)),
    );
}

function addSessions(program: Command, run: Run): void {
  const sessions = program.command("sessions").description("list, create and delete sessions");
  addCommonOptions(
    sessions
      .command("list", { isDefault: true })
      .description("list the sessions, the newest first")
      // Checked below: the word after `sessions` may be an unknown command.
      .allowExcessArguments()
      .option("--limit <number>", "how many", wholeNumber(1, 1_000_000), 100)
      .option("--all", "as many as there are"),
  )
    .addHelpText("after", TARGET_HINT)
    .action((options: WantedOptions & CommonOptions, list: Command) => {
      const [first] = list.args;
      if (first !== undefined) refuseArgument(sessions, first);
      return run(options, async (context) => (await import("./sessions.ts")).listSessions(context, options));
    });
  const create = sessions
    .command("create")
    .description("make a session and print its id")
    .requiredOption("--executor <name>", "the CLI that runs its turns")
    .option("--id <id>", "the caller's own id: 8 to 64 of letters, digits and . _ : -")
    .option("--workspace <directory>", "where its turns work, an absolute path of the turnd's machine");
  addCommonOptions(addDeny(create))
    .addHelpText("after", TARGET_HINT)
    .action((options: CreateSessionOptions & CommonOptions) =>
      run(options, async (context) => (await import("./sessions.ts")).createSession(context, options)),
    );
  addCommonOptions(sessions.command("delete").description("end a session's turns and remove what there is of it"))
    .argument("<session_id>", "a session")
    .addHelpText("after", TARGET_HINT)
    .action((sessionId: string, options: CommonOptions) =>
      run(options, async (context) => (await import("./sessions.ts")).deleteSession(context, sessionId)),
    );
}

function addFiles(program: Command, run: Run): void {
  const files = program.command("files").description("list, read, write and delete files of a session's workspace");
  const below = "a path below the session's workspace";
  addCommonOptions(files.command("list").description("list a directory"))
    .argument("<session_id>", "a session")
    .argument("[directory]", `${below}; otherwise the workspace`)
    .option("--limit <number>", "how many", wholeNumber(1, 1_000_000), 1_000)
    .option("--all", "as many as there are")
    .addHelpText("after", TARGET_HINT)
    .action((sessionId: string, path: string | undefined, options: WantedOptions & CommonOptions) =>
      run(options, async (context) => (await import("./files.ts")).listFiles(context, { sessionId, path }, options)),
    );
  addCommonOptions(files.command("get").description("write a file of the workspace here, or on standard output"))
    .argument("<session_id>", "a session")
    .argument("<path>", below)
    .argument("[file]", "a file of this machine, which is replaced; - is standard output", "-")
    .option("--zip", "a directory with all below it, as a zip")
    .addHelpText("after", TARGET_HINT)
    .action((sessionId: string, path: string, to: string, options: GetFileOptions & CommonOptions) =>
      run(options, async (context) => (await import("./files.ts")).getFile(context, { sessionId, path, to }, options)),
    );
  addCommonOptions(files.command("put").description("write a file of this machine into the workspace, as a whole"))
    .argument("<session_id>", "a session")
    .argument("<file>", "a file of this machine; - is standard input")
    .argument("[path]", `${below}; a directory ends in /; otherwise the file's own name`)
    .option("--new", "replace nothing")
    .addHelpText("after", TARGET_HINT)
    .action((sessionId: string, from: string, path: string | undefined, options: PutFileOptions & CommonOptions) =>
      run(options, async (context) =>
        (await import("./files.ts")).putFile(context, { sessionId, from, path }, options),
      ),
    );
  addCommonOptions(files.command("delete").description("delete a file, a link, or a directory"))
    .argument("<session_id>", "a session")
    .argument("<path>", below)
    .option("--recursive", "a directory with all below it")
    .addHelpText("after", TARGET_HINT)
    .action((sessionId: string, path: string, options: { readonly recursive?: boolean } & CommonOptions) =>
      run(options, async (context) => (await import("./files.ts")).deleteFile(context, { sessionId, path }, options)),
    );
}

/** Refuses an unknown sub-command of a command that also has a default. */
function refuseArgument(parent: Command, argument: string): never {
  const names = parent.commands.map((command) => command.name());
  if (names.includes(parent.args[0] ?? "")) {
    return parent.error(`error: ${parent.name()} ${parent.args[0]} takes no argument, got '${argument}'`);
  }
  const hint = nearest(argument, names) ?? names.join(", ");
  return parent.error(`error: unknown command '${parent.name()} ${argument}' (there is ${hint})`);
}
