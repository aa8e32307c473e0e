import { join } from "node:path";
import { replayLines } from "../../test/turnd/daemon/replay/replay-lines.ts";
import type { FailureCode, TurnStatusAtEnd } from "../../src/turnd/protocol/index.ts";
import { ANSWERS } from "../../test/turnd/daemon/executors/answers/answers.ts";
import type { Cli } from "./run-cli.ts";
import { UNSEEN_ACTS } from "./unseen-acts.ts";

/** What turnd says of a recording, beside what the table of answers says it is. */
export interface Compared {
  readonly name: string;
  readonly outcome: string;
  /** The right one, and others that are defensible. Absent where no table knows the case: a person has to judge. */
  readonly allowed?: readonly string[];
}

/** Replays recordings and puts their codes beside the table of answers. */
export async function compareRecordings(
  cli: Cli,
  directory: string,
  names: readonly string[],
): Promise<readonly Compared[]> {
  const labels = new Map<string, readonly string[]>([
    // What the provider meant is right too where 0.139.0 kept it from turnd.
    ...ANSWERS.map(
      ({ name, code, cliB, also }) => [name, [...(cli.executor === "cli-a" ? [] : [cliB]), code, ...also]] as const,
    ),
    ...UNSEEN_ACTS.map(({ name, cliA, cliB }) => [name, cli.executor === "cli-a" ? cliA : cliB] as const),
  ]);
  const compared: Compared[] = [];
  for (const name of names) {
    const { ended } = await replayLines(join(directory, name));
    const outcome = ended.failure?.code ?? ended.status;
    const allowed = labels.get(name);
    compared.push({ name, outcome, ...(allowed === undefined ? {} : { allowed }) });
  }
  return compared;
}

/** A run whose end is known beforehand. */
interface Labelled {
  readonly name: string;
  readonly label: {
    readonly status: TurnStatusAtEnd;
    readonly code?: FailureCode;
    /** Other codes that are defensible. */
    readonly also?: readonly FailureCode[];
  };
}

/** Replays scenes. @returns a line for each that turnd reads otherwise than its label allows */
export async function compareScenes(directory: string, scenes: readonly Labelled[]): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const { name, label } of scenes) {
    const { ended } = await replayLines(join(directory, name));
    const outcome = ended.failure?.code ?? ended.status;
    const right = label.code ?? label.status;
    if ([right, ...(label.also ?? [])].every((allowed) => allowed !== outcome))
      wrong.push(`${name}: ${outcome}, not ${right}`);
  }
  return wrong;
}
