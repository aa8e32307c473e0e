import type { Ending, FailureDraft, Outcome, TranslatedEvent, Translator } from "../executors/executor.ts";
import { isBlank } from "../executors/json-line.ts";
import type { OutputBatch } from "../process/follow.ts";
import { ownFailure } from "./acts.ts";

/** What a resumed process may print before it names its session (law 9): both CLIs name it in their first record. */
const MAX_HELD_EVENTS = 10_000;
const MAX_HELD_CHARACTERS = 33_554_432;

/** What is counted while a turn's lines are translated. */
export interface Counts {
  records: number;
  unknown: number;
  tools: number;
  retries: number;
}

export interface ConsumeOptions {
  readonly translator: Translator;
  readonly output: AsyncIterable<OutputBatch>;
  /** Nothing is passed on before the requested session has come back. */
  readonly isHeldUntilBound: boolean;
  readonly emit: (events: readonly TranslatedEvent[]) => Promise<void>;
  /** Told of every batch, before its events are passed on. */
  readonly onBatch?: (batch: OutputBatch) => void;
  /** The process must not go on; what it prints after this is not passed on. */
  readonly onHalt?: (halt: FailureDraft) => void;
  readonly onStepBoundary?: () => void;
  /** Asked once the output has ended. */
  readonly outcome: () => Promise<Outcome>;
}

export interface Consumed {
  readonly ending: Ending;
  readonly halt: FailureDraft | undefined;
  readonly counts: Counts;
  /** False when everything was held back: then nothing of this process has been seen by anyone. */
  readonly hasEmitted: boolean;
  /** Why, in that case. */
  readonly degradedReason: string;
}

/**
 * Turns a process's output into events: the one code path of live turns, turns taken up again, and replays (law 1).
 *
 * Events of a resumed session are held back until the right session has answered; where it never does, they are
 * returned to nobody.
 */
export async function consumeOutput(options: ConsumeOptions): Promise<Consumed> {
  const counts: Counts = { records: 0, unknown: 0, tools: 0, retries: 0 };
  let held: TranslatedEvent[] | undefined = options.isHeldUntilBound ? [] : undefined;
  let heldCharacters = 0;
  let halt: FailureDraft | undefined;

  function stop(why: FailureDraft): void {
    halt = why;
    options.onHalt?.(why);
  }

  async function pass(events: readonly TranslatedEvent[]): Promise<void> {
    if (held !== undefined) {
      held.push(...events);
      const isBound = events.some((event) => event.type === "session.bound");
      const isTooMuch = held.length > MAX_HELD_EVENTS || heldCharacters > MAX_HELD_CHARACTERS;
      if (!isBound && isTooMuch && halt === undefined) stop(ownFailure("resume_degraded", NEVER_NAMED));
      if (!isBound) return;
      events = held;
      held = undefined;
    }
    for (const event of events) count(counts, event);
    if (events.length > 0) await options.emit(events);
  }

  for await (const batch of options.output) {
    options.onBatch?.(batch);
    const events: TranslatedEvent[] = [];
    // Of what was printed since the last look only the last line tells where the process is now.
    let isAtBoundary = false;
    for (const line of batch.lines) {
      const isRecord = line.source === "stdout" && !isBlank(line.text);
      if (isRecord) counts.records += 1;
      const translation = options.translator.push(line);
      if (halt !== undefined) continue;
      events.push(...translation.events);
      if (held !== undefined && translation.events.length > 0) heldCharacters += line.text.length;
      if (isRecord) isAtBoundary = translation.isStepBoundary === true;
      if (translation.halt !== undefined) stop(translation.halt);
    }
    if (isAtBoundary) options.onStepBoundary?.();
    await pass(events);
  }
  const ending = options.translator.end(await options.outcome());
  // A resume that never bound but was no stranger either has failed for another reason: then its events count.
  const isLost = held !== undefined && (halt ?? ending.failure)?.code === "resume_degraded";
  if (!isLost) {
    const rest = [...(held ?? []), ...ending.events];
    held = undefined;
    await pass(rest);
  }
  const degradedReason = (halt ?? ending.failure)?.message ?? "The native session did not come back.";
  return { ending, halt, counts, hasEmitted: !isLost, degradedReason };
}

const NEVER_NAMED = "The CLI printed more than a session's beginning and never named the session it was to go on with.";

function count(counts: Counts, event: TranslatedEvent): void {
  if (event.type === "record.unknown") counts.unknown += 1;
  else if (event.type === "tool.started") counts.tools += 1;
  else if (event.type === "retry") counts.retries += 1;
}
