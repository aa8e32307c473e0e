import { Argument, type Command } from "commander";
import {
  completeLine,
  completionScript,
  FILES,
  SHELLS,
  type CompletionPlace,
} from "../../../kit/command-line/completion.ts";
import type { CommandLine } from "../definition.ts";
import { loadExecutors, type ExitCode, type Host } from "../host.ts";

/** `turnd completion`. */
export function addCompletion({ program, perform }: CommandLine): void {
  program
    .command("completion")
    .description("print the script that makes a shell complete turnd's words")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .action((shell: (typeof SHELLS)[number]) =>
      perform(async () => {
        process.stdout.write(completionScript("turnd", shell));
        return 0;
      }),
    );
}

/** Answers the script: `turnd __complete <position> <words…>`. */
export async function printCompletion(program: Command, host: Host): Promise<ExitCode> {
  const [, position = "", ...words] = host.args;
  const request = { position: Number(position), words };
  process.stdout.write(await completeLine(program, request, (place) => valuesOf(place, host)));
  return 0;
}

const TAKES_FILES = new Set(["replay", "diff", "pack", "unpack", "record"]);

const FILE_ARGUMENT: Readonly<Record<string, number>> = { "files get": 2, "files put": 1 };

async function valuesOf(place: CompletionPlace, host: Host): Promise<readonly string[]> {
  const { command, option, argument } = place;
  if (option === "--executor" || (command === "probe" && option === undefined)) {
    return (await loadExecutors(host)).flatMap(({ id, builtAs }) => [id, builtAs]);
  }
  if (option === "--token-file" || option === "--workspace") return [FILES];
  if (option === undefined && TAKES_FILES.has(command)) return [FILES];
  if (option === undefined && argument === FILE_ARGUMENT[command]) return [FILES];
  const { completeIds } = await import("../client/complete-ids.ts");
  return completeIds(host.env, place);
}
