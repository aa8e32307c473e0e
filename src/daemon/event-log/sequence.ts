import { createHash, type Hash } from "node:crypto";
import type { CliName, Native, TurnEvent } from "../../protocol/index.ts";
import { createLineBuffer } from "./line-buffer.ts";

/** An event before it has its place. */
export type NewEvent = TurnEvent & { readonly native?: Native | undefined };

/** What every line of a turn's events is made with. */
export interface SequenceOptions {
  readonly turnId: string;
  readonly sessionId: string;
  readonly executor: CliName;
  /** ISO 8601, UTC. */
  readonly now: () => string;
  /** Takes secrets out of lines before anyone sees them (law 8). */
  readonly redact: (lines: string) => string;
}

/** Numbers events and renders them, one JSON line each, and keeps count of what was taken. */
export interface Sequence {
  /**
   * Lines, newlines included, for events that would come next; nothing is taken yet.
   *
   * Shape: the bytes are good until the next call, which writes over them.
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

/** Lines are searched for secrets and encoded together, but not so many that their text is large in itself. */
const PIECE_CHARACTERS = 16_384;

/** Makes the sequence of a turn; without a start it begins with `seq` 1. */
export function createSequence(options: SequenceOptions, start?: SequenceStart): Sequence {
  const { turnId, sessionId, executor, now, redact } = options;
  const hash = start?.hash ?? createHash("sha256");
  let count = start?.count ?? 0;

  // Written out by hand: this is what each event of a burst costs, and most of a line is the same in every one.
  const ids = `"turn_id":${JSON.stringify(turnId)},"session_id":${JSON.stringify(sessionId)},"executor":"${executor}"`;

  const lines = createLineBuffer();

  return {
    render(events) {
      const stamp = `"at":"${now()}",${ids}`;
      let seq = count;
      let text = "";
      lines.clear();
      for (const { type, native, data } of events) {
        seq += 1;
        const origin = native === undefined ? "" : `"native":${JSON.stringify(native)},`;
        // `type` stands before anything that may hold free text: readers find it without parsing the data.
        text += `{"v":1,"seq":${seq},${stamp},"type":"${type}",${origin}"data":`;
        const json = JSON.stringify(data);
        if (text.length + json.length > PIECE_CHARACTERS) {
          // Apart, so that a long text is not copied once more to stand behind the short one.
          lines.add(redact(text));
          lines.add(redact(json));
          text = "}\n";
        } else {
          text += `${json}}\n`;
        }
      }
      lines.add(redact(text));
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
