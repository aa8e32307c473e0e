import { createHash, type Hash } from "node:crypto";
import type { CliName, Native, TurnEvent } from "../../protocol/index.ts";
import { createLineBuffer } from "./line-buffer.ts";
import { stringifyRedacted } from "./redact-value.ts";
import { redactCut, type Redact } from "./redact.ts";

/** An event before it has its place. */
export type NewEvent = TurnEvent & {
  readonly native?: Native | undefined;
  readonly parent_tool_call_id?: string | undefined;
  /** Where it is not dated when it is written: with what is written beside it. */
  readonly at?: string;
};

/** What every line of a turn's events is made with. */
export interface SequenceOptions {
  readonly turnId: string;
  readonly sessionId: string;
  readonly executor: CliName;
  /** What a person calls the recording that is replayed; each event names it then. */
  readonly recording?: string;
  /** ISO 8601, UTC. */
  readonly now: () => string;
  /** Takes secrets out of events before anyone sees them. Law: keys travel aside. */
  readonly redact: Redact;
}

/** Numbers events and renders them, one JSON line each, and keeps count of what was taken. */
export interface Sequence {
  /**
   * Lines, newlines included, for events that would come next; nothing is taken yet.
   *
   * The bytes are good until the next call, which writes over them.
   */
  render(events: readonly NewEvent[]): Buffer;
  /** Counts lines that have come to stay. */
  take(bytes: Buffer, count: number): void;
  lastSeq(): number;
  /** Hex SHA-256 over every byte taken. */
  digest(): string;
}

/** What a sequence goes on from: the lines before it. */
export interface SequenceStart {
  readonly count: number;
  readonly hash: Hash;
}

interface RenderedEvent {
  readonly event: NewEvent;
  readonly seq: number;
}

/** Lines are searched for secrets and encoded together, but not so many that their text is large in itself. */
const PIECE_CHARACTERS = 16_384;

/** Makes the sequence of a turn; without a start it begins with `seq` 1. */
export function createSequence(options: SequenceOptions, start?: SequenceStart): Sequence {
  const { turnId, sessionId, executor, recording, now, redact } = options;
  const hash = start?.hash ?? createHash("sha256");
  let count = start?.count ?? 0;

  // Written out by hand: this is what each event of a burst costs, and most of a line is the same in every one.
  const named = recording === undefined ? "" : `,"recording":${JSON.stringify(redact(recording))}`;
  const ids = `"turn_id":${JSON.stringify(turnId)},"session_id":${JSON.stringify(sessionId)},"executor":"${executor}"${named}`;

  const lines = createLineBuffer();

  /** `type` stands before anything that may hold free text: readers find it without parsing the data. */
  function headOf({ type, native, parent_tool_call_id: parent }: NewEvent, seq: number, stamp: string): string {
    const origin = native === undefined ? "" : `"native":${JSON.stringify(native)},`;
    const caller = parent === undefined ? "" : `"parent_tool_call_id":${JSON.stringify(parent)},`;
    return `{"v":1,"seq":${seq},${stamp},"type":"${type}",${origin}${caller}"data":`;
  }
  const isClean = (text: string): boolean => redact(text) === text;

  return {
    render(events) {
      const stamp = `"at":"${events[0]?.at ?? now()}",${ids}`;
      let text = "";
      let pieces: RenderedEvent[] = [];
      lines.clear();

      function addRedacted({ event, seq }: RenderedEvent): void {
        const { native, parent_tool_call_id: parent } = event;
        const origin = {
          native: redactNative(native, redact),
          parent_tool_call_id: parent === undefined ? undefined : redact(parent),
        };
        const head = headOf({ ...event, ...origin }, seq, stamp);
        lines.add(`${head}${stringifyRedacted(event.data, redact)}}\n`);
      }
      function addPieces(): void {
        if (isClean(text)) lines.add(text);
        else for (const piece of pieces) addRedacted(piece);
        text = "";
        pieces = [];
      }
      for (const [index, given] of events.entries()) {
        const event = redactCutLine(given, redact);
        const seq = count + index + 1;
        const head = headOf(event, seq, stamp);
        const json = JSON.stringify(event.data);
        if (text.length + json.length > PIECE_CHARACTERS) addPieces();
        if (json.length <= PIECE_CHARACTERS) {
          text += `${head}${json}}\n`;
          pieces.push({ event, seq });
        } else if (isClean(head) && isClean(json)) {
          // Apart, so that a long text is not copied once more to stand behind the short one.
          lines.add(head);
          lines.add(json);
          lines.add("}\n");
        } else {
          addRedacted({ event, seq });
        }
      }
      addPieces();
      return lines.bytes();
    },
    take(bytes, taken) {
      hash.update(bytes);
      count += taken;
    },
    lastSeq: () => count,
    digest: () => hash.copy().digest("hex"),
  };
}

/** Type and id are the CLI's own words. */
function redactNative(native: Native | undefined, redact: Redact): Native | undefined {
  return (
    native && {
      ...native,
      ...(native.type === undefined ? {} : { type: redact(native.type) }),
      ...(native.id === undefined ? {} : { id: redact(native.id) }),
    }
  );
}

/** Of a line beyond the limit only the head is known, and nothing in it shows the cut. No limit is lower than this. */
const MIN_HEAD_CHARACTERS = 250;

function redactCutLine(event: NewEvent, redact: Redact): NewEvent {
  if (event.type !== "record.unknown" || event.data.line.length < MIN_HEAD_CHARACTERS) return event;
  const line = redactCut(event.data.line, redact);
  return line === event.data.line ? event : { ...event, data: { ...event.data, line } };
}
