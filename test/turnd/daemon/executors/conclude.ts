import { join } from "node:path";
import type { Executor } from "../../../../src/turnd/daemon/executors/contract/executor.ts";
import type { OutputLine } from "../../../../src/turnd/daemon/executors/contract/translator.ts";
import { EndedBy } from "../../../../src/turnd/daemon/turns/lifecycle/turn-file.ts";
import { concludeTurn } from "../../../../src/turnd/daemon/turns/outcome/conclude.ts";
import { readLines, type Recording } from "./recordings.ts";

/** Both files of a recording, stdout first. */
export function readAll({ directory }: Recording): OutputLine[] {
  return [
    ...readLines(join(directory, "stdout.jsonl"), "stdout"),
    ...readLines(join(directory, "stderr.log"), "stderr"),
  ];
}

/** What a turn comes to. */
export interface Concluded {
  readonly status: string;
  readonly code: string | null;
  readonly said: string;
  /** Lines of stdout that became an event. */
  readonly shown: ReadonlySet<number>;
  readonly haltedAt: number;
}

/** Ends a turn whose process printed these lines as turnd would. */
export function conclude(executor: Executor, { turn, exit }: Recording, lines: readonly OutputLine[]): Concluded {
  const translator = executor.createTranslator({
    requestedSession: turn.requested_session,
    cliVersion: turn.cli_version,
  });
  const shown = new Set<number>();
  let halt: ReturnType<typeof translator.push>["halt"];
  let haltedAt = Infinity;
  for (const line of lines) {
    const translation = translator.push(line);
    for (const { native } of translation.events) {
      if (line.source === "stdout" && native?.line !== undefined) shown.add(native.line);
    }
    if (translation.halt === undefined || halt !== undefined) continue;
    halt = translation.halt;
    haltedAt = line.number;
  }
  const endedBy = EndedBy.parse(turn.ended_by);
  const ending = translator.end({ exit, wasStopped: endedBy !== null });
  const conclusion = concludeTurn({
    endedBy,
    ending,
    exit,
    isDegraded: false,
    ...(halt === undefined ? {} : { halt }),
  });
  const { status, failure } = conclusion;
  return {
    status,
    code: failure?.code ?? null,
    said: failure === undefined ? status : `${failure.code}: ${failure.message}`,
    shown,
    haltedAt,
  };
}
