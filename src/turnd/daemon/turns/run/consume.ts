import type {
  Ending,
  Outcome,
  OutputLine,
  TranslatedEvent,
  RequestSign,
  Translator,
} from "../../executors/contract/translator.ts";
import type { FailureDraft } from "../../executors/contract/failures.ts";
import { isBlank } from "../../executors/contract/json-line.ts";
import type { OutputBatch, TakeBatch } from "../../process/output/follow.ts";
import { countEvent, type Counts } from "../outcome/event-counts.ts";
import { ownFailure } from "../outcome/own-failure.ts";

/**
 * What a resumed process may print before it names its session (law: every wait is bounded): both CLIs name it in their
 * first record.
 */
const MAX_HELD_EVENTS = 10_000;
const MAX_HELD_CHARACTERS = 33_554_432;

/** What is noticed while output is read. */
export type OutputReport =
  /** Of every batch, when its events are on their way: no reader of them waits for what is made of this. */
  | { readonly type: "output_read"; readonly batch: OutputBatch; readonly request: RequestSign | undefined }
  /** The process must not go on; what it prints after this is not passed on. */
  | { readonly type: "halted"; readonly halt: FailureDraft }
  | { readonly type: "step_boundary" }
  /** What ran of tools before this line has ended; with the time at which it was printed, in milliseconds, if it has one. */
  | { readonly type: "tool_free"; readonly printedAt: number | undefined };

export interface ConsumeOptions {
  readonly translator: Translator;
  /** @param take - takes a batch before the iteration comes to it, as `FollowOptions.atOnce` */
  readonly output: (take: TakeBatch) => AsyncIterable<OutputBatch>;
  /** Nothing is passed on before the requested session has come back. */
  readonly isHeldUntilBound: boolean;
  /** @param lines - the line each event was translated from; none for those of the end */
  readonly emit: (events: readonly TranslatedEvent[], lines: readonly OutputLine[]) => Promise<void> | undefined;
  readonly report: (report: OutputReport) => void;
  /** Asked once the output has ended. */
  readonly outcome: () => Promise<Outcome>;
}

export interface ConsumeResult {
  readonly ending: Ending;
  readonly halt: FailureDraft | undefined;
  readonly counts: Counts;
  /** False when everything was held back: then nothing of this process has been seen by anyone. */
  readonly hasEmitted: boolean;
  /** Why, in that case. */
  readonly degradedReason: string;
  /** The records show that the turn is over, whatever its process does. */
  readonly isComplete: boolean;
  /** The last record that became an event, in a few words; undefined where none did. */
  readonly lastSeen: string | undefined;
}

/**
 * Turns a process's output into events: the one code path of live turns, turns resumed after a restart, and replays.
 * Law: the recording is the transport.
 *
 * Events of a resumed session are held back until the right session has answered; where it never does, they are
 * dropped.
 */
export async function consumeOutput(options: ConsumeOptions): Promise<ConsumeResult> {
  const counts: Counts = { records: 0, unknown: 0, tools: 0, retries: 0 };
  let held: TranslatedEvents | undefined = options.isHeldUntilBound ? { events: [], lines: [] } : undefined;
  let heldCharacters = 0;
  let halt: FailureDraft | undefined;
  let last: TranslatedEvent | undefined;

  function stop(why: FailureDraft): void {
    halt = why;
    options.report({ type: "halted", halt: why });
  }

  function pass({ events, lines }: TranslatedEvents): Promise<void> | undefined {
    if (held !== undefined) {
      held.events.push(...events);
      held.lines.push(...lines);
      const isBound = events.some((event) => event.type === "session.bound");
      const isTooMuch = held.events.length > MAX_HELD_EVENTS || heldCharacters > MAX_HELD_CHARACTERS;
      if (!isBound && isTooMuch && halt === undefined) stop(ownFailure("resume_degraded", NEVER_NAMED));
      if (!isBound) return undefined;
      ({ events, lines } = held);
      held = undefined;
    }
    for (const { type } of events) countEvent(counts, type);
    return events.length > 0 ? options.emit(events, lines) : undefined;
  }

  function take(batch: OutputBatch): Promise<void> | undefined {
    const translated: TranslatedEvents = { events: [], lines: [] };
    // Of what was printed since the last look only the last line shows where the process is now.
    let isAtBoundary = false;
    let request: RequestSign | undefined;
    for (const line of batch.lines) {
      const isRecord = line.source === "stdout" && !isBlank(line.text);
      if (isRecord) counts.records += 1;
      const translation = options.translator.push(line);
      request = translation.request ?? request;
      if (halt !== undefined) continue;
      for (const event of translation.events) {
        translated.events.push(event);
        translated.lines.push(line);
        if (line.source === "stdout") last = event;
      }
      if (held !== undefined && translation.events.length > 0) heldCharacters += line.text.length;
      if (isRecord) isAtBoundary = translation.isStepBoundary === true;
      if (translation.isToolFree === true) options.report({ type: "tool_free", printedAt: translation.printedAt });
      if (translation.halt !== undefined) stop(translation.halt);
    }
    const passing = pass(translated);
    options.report({ type: "output_read", batch, request });
    // Only then it is known whether it is news, or what an earlier daemon has passed.
    if (!isAtBoundary) return passing;
    const reportBoundary = (): void => options.report({ type: "step_boundary" });
    if (passing !== undefined) return passing.then(reportBoundary);
    reportBoundary();
    return undefined;
  }

  for await (const batch of options.output(take)) await take(batch);
  const isComplete = options.translator.activity?.().isComplete ?? false;
  const ending = options.translator.end(await options.outcome());
  // A resume that never bound but was of no other session either has failed for another reason: then its events count.
  const isLost = held !== undefined && (halt ?? ending.failure)?.code === "resume_degraded";
  if (!isLost) {
    const rest = { events: [...(held?.events ?? []), ...ending.events], lines: held?.lines ?? [] };
    held = undefined;
    await pass(rest);
  }
  const degradedReason = (halt ?? ending.failure)?.message ?? "The native session did not come back.";
  return {
    ending,
    halt,
    isComplete,
    counts,
    hasEmitted: !isLost,
    degradedReason,
    lastSeen: last && describeEvent(last),
  };
}

/** One clause without a semicolon, which goes into a sentence. */
function describeEvent({ native, type, data }: TranslatedEvent): string {
  const name = "name" in data && typeof data.name === "string" ? ` of ${data.name}` : "";
  return `line ${native?.line ?? "unknown"} of stdout (${native?.type ?? type}${name})`;
}

const NEVER_NAMED = "The CLI printed more than a session's beginning and never named the session it was to go on with.";

interface TranslatedEvents {
  events: TranslatedEvent[];
  /** The line of each, but for those of the end. */
  lines: OutputLine[];
}
