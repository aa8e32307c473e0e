import type { Writable } from "node:stream";
import { styleText } from "node:util";
import type { TurnEndedData } from "../protocol/index.ts";
import { RecordingError } from "../daemon/replay/recording-error.ts";
import { compareEvents, toComparedEvent, type ComparedEvent, type Difference } from "./diff-events.ts";
import { toPrintable } from "./printable.ts";
import { createReplaySources, type ReplaySources, type ReplaySourcesOptions } from "./replay-sources.ts";
import { untilAborted } from "./until-aborted.ts";
import { isReaderGone, write } from "./write.ts";

export interface DiffOptions extends Omit<ReplaySourcesOptions, "onFault"> {
  readonly isJson: boolean;
  /** Compare times and ids too. */
  readonly isStrict: boolean;
  /** Paint what differs. */
  readonly hasColors: boolean;
  readonly out: Writable;
  /** Aborted to stop; what was unpacked is removed then. */
  readonly signal: AbortSignal;
}

/** Both recordings are held in memory. Law: every wait is bounded. */
const MAX_CHARACTERS = 268_435_456;

/**
 * Compares the events of two recordings, and prints where they differ.
 *
 * @returns 0 when they are the same, 1 when they differ
 * @throws {RecordingError} if one cannot be replayed, or is more than one
 */
export async function printDiff(a: string, b: string, options: DiffOptions): Promise<0 | 1> {
  if (a === "-" && b === "-") throw new RecordingError("standard input", "can be one of the two, not both");
  const onFault = (error: RecordingError): never => {
    throw error;
  };
  const opened = createReplaySources({ ...options, onFault });
  const readBoth = async () => [await readSide(a, opened, options), await readSide(b, opened, options)] as const;
  try {
    const sides = await Promise.race([readBoth(), untilAborted(options.signal)]);
    const differences = compareEvents(sides[0].events, sides[1].events);
    const code = differences.every(({ kind }) => kind === "same") ? 0 : 1;
    const text = options.isJson
      ? toJson(sides, differences, code === 0)
      : toText(sides, differences, options.hasColors);
    await write(options.out, options.redact(text), { isPrintable: !options.isJson }).catch((error: unknown) => {
      // What they come to is known all the same.
      if (!isReaderGone(error)) throw error;
    });
    return code;
  } finally {
    await opened.sources.close();
  }
}

interface Side {
  readonly name: string;
  readonly executor: string;
  readonly ended: TurnEndedData;
  readonly events: readonly ComparedEvent[];
}

async function readSide(name: string, { sources, replay }: ReplaySources, { isStrict }: DiffOptions): Promise<Side> {
  let side: Side | undefined;
  for await (const source of sources.open(name)) {
    if (side !== undefined) {
      throw new RecordingError(name, `holds more than one recording; name one, such as ${side.name}`);
    }
    const events: ComparedEvent[] = [];
    let rest = "";
    let characters = 0;
    const ended = await replay(source, {
      write: (bytes) => {
        const lines = (rest + bytes.toString("utf8")).split("\n");
        rest = lines.pop() ?? "";
        characters += bytes.length;
        if (characters > MAX_CHARACTERS) {
          throw new RecordingError(source.name, `has more than ${MAX_CHARACTERS} bytes of events, too many to compare`);
        }
        for (const line of lines) events.push(toComparedEvent(line, { isStrict }));
        return Promise.resolve();
      },
    });
    side = { name: source.name, executor: source.recording.turn.executor, ended, events };
  }
  if (side === undefined) throw new RecordingError(name, "holds no recording");
  return side;
}

function toJson([a, b]: readonly [Side, Side], differences: readonly Difference[], isSame: boolean): string {
  const toSide = ({ name, executor, ended, events }: Side): object => ({
    recording: name,
    executor,
    status: ended.status,
    ...(ended.failure === undefined ? {} : { code: ended.failure.code }),
    events: events.length,
  });
  return `${JSON.stringify({ same: isSame, a: toSide(a), b: toSide(b), differences }, null, 2)}\n`;
}

/** What one line shows of a value. */
const MAX_SHOWN_CHARACTERS = 160;

function toText([a, b]: readonly [Side, Side], differences: readonly Difference[], hasColors: boolean): string {
  const paint = (color: "red" | "green" | "yellow" | "dim", line: string): string =>
    hasColors ? styleText(color, line, { validateStream: false }) : line;
  const lines = [
    paint("red", `--- ${describeSide(a)}`),
    paint("green", `+++ ${describeSide(b)}`),
    ...differences.flatMap((difference): string[] => {
      switch (difference.kind) {
        case "same":
          return [paint("dim", `  ${difference.count} ${plural("event", difference.count)} the same`)];
        case "only_in_a":
          return [paint("red", `- ${difference.seq} ${difference.type}  ${show(withoutType(difference.event))}`)];
        case "only_in_b":
          return [paint("green", `+ ${difference.seq} ${difference.type}  ${show(withoutType(difference.event))}`)];
        case "changed": {
          const { a_seq: seqA, b_seq: seqB, type, fields } = difference;
          const where = seqA === seqB ? `${seqA}` : `${seqA} → ${seqB}`;
          return [
            paint("yellow", `~ ${where} ${type}`),
            ...fields.flatMap(({ path, a: before, b: after }) => [
              ...(before === undefined ? [] : [paint("red", `  - ${toPrintable(path)}: ${show(before)}`)]),
              ...(after === undefined ? [] : [paint("green", `  + ${toPrintable(path)}: ${show(after)}`)]),
            ]),
          ];
        }
      }
    }),
  ];
  return `${lines.join("\n")}\n`;
}

function describeSide({ name, executor, ended, events }: Side): string {
  const outcome = ended.failure === undefined ? ended.status : `${ended.status} ${ended.failure.code}`;
  return `${toPrintable(name)}  (${executor}, ${outcome}, ${events.length} ${plural("event", events.length)})`;
}

function withoutType(event: object): object {
  return Object.fromEntries(
    Object.entries(event).filter(([name]) => name !== "type" && name !== "v" && name !== "executor"),
  );
}

/** The end of two long texts may be all that differs: the middle is what is left out. */
function show(value: unknown): string {
  const text = toPrintable(JSON.stringify(value) ?? "");
  if (text.length <= MAX_SHOWN_CHARACTERS) return text;
  const half = MAX_SHOWN_CHARACTERS / 2;
  return `${text.slice(0, half)} … ${text.slice(-half)}`;
}

function plural(word: string, count: number): string {
  return count === 1 ? word : `${word}s`;
}
