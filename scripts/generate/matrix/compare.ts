import { join } from "node:path";
import { replayLines } from "../../../test/replay/replay-lines.ts";
import { ANSWERS } from "../../../test/executors/answers/answers.ts";
import type { Cli } from "./run-cli.ts";

/** What turnd says of a recording, beside what the table of answers says it is. */
export interface Compared {
  readonly name: string;
  readonly outcome: string;
  /** Absent where the table does not know the case: a person has to judge. */
  readonly expected?: string;
}

/** Replays recordings and puts their codes beside the table of answers. */
export async function compareRecordings(
  cli: Cli,
  directory: string,
  names: readonly string[],
): Promise<readonly Compared[]> {
  const answers = new Map(ANSWERS.map((answer) => [answer.name, answer]));
  const compared: Compared[] = [];
  for (const name of names) {
    const { ended } = await replayLines(join(directory, name));
    const answer = answers.get(name);
    const outcome = ended.failure?.code ?? ended.status;
    const expected = cli.executor === "cli-a" ? answer?.code : answer?.cliB;
    compared.push({ name, outcome, ...(expected === undefined ? {} : { expected }) });
  }
  return compared;
}
