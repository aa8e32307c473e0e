import { ProblemError, type Problem } from "../../../protocol/index.ts";
import type { LoggedLine } from "../../turns/turn-service.ts";
import { renderProblem } from "../problem.ts";
import { makePiece, type Piece } from "./chunks.ts";
import { shareFrames, type Frame } from "./shared-frames.ts";

/** A comment: shows the client and proxies that the connection is alive. */
export const HEARTBEAT_FRAME = Buffer.from(":\n\n");

/** What a client gets when a stream itself fails. */
export const STREAM_FAILED: Problem = renderProblem(
  new ProblemError("internal_error", "the stream failed; reconnect with the last id"),
  (text) => text,
);

/** How many newlines stand behind the data: an empty line ends a frame. */
const FRAME_NEWLINES = 2;
const NEWLINE = 0x0a;

/** Whether a client asks for server-sent events. */
export function wantsSse(accept: string | undefined): boolean {
  return /\btext\/event-stream\b/i.test(accept ?? "");
}

/**
 * The name of an event on the wire. The last one is `end`, so that a client can wait for it whatever the turn's status.
 */
function eventName(type: string): string {
  return type === "turn.ended" ? "end" : type;
}

/** Everything of a frame that comes before its data. */
export function frameHead(line: LoggedLine): string {
  return `id: ${line.id ?? line.seq}\nevent: ${eventName(line.type)}\ndata: `;
}

/** Bytes a frame adds to its data. */
export function frameOverhead(line: LoggedLine): number {
  return frameHead(line).length + FRAME_NEWLINES;
}

/** A batch as one piece; `data` is byte for byte the line, which has no newline in it since JSON escapes them. */
export const frameSse = shareFrames((lines) => joinFrames(lines, frameHead, FRAME_NEWLINES));

/**
 * The same without names, so that every event reaches `onmessage` of an EventSource; the type is in the data. Each is
 * shorter than with its name.
 */
const frameUnnamedSse = shareFrames((lines) =>
  joinFrames(lines, ({ id, seq }) => `id: ${id ?? seq}\ndata: `, FRAME_NEWLINES),
);

/** The form of frames that a stream's query asks for. */
export function frameFor({ named = true }: { readonly named?: boolean | undefined }): Frame {
  return named ? frameSse : frameUnnamedSse;
}

/** A batch as lines of JSON, byte for byte as logged. */
export const frameNdjson = shareFrames((lines) => joinFrames(lines, () => "", 1));

/** Reports that the stream itself has failed; the turn may go on. It has no id, so a client resumes where it was. */
export function frameSseError(data: unknown): Buffer {
  return Buffer.from(`event: error\ndata: ${JSON.stringify(data)}\n\n`);
}

/** @param headOf - Latin text, as ids and types are */
function joinFrames(lines: readonly LoggedLine[], headOf: (line: LoggedLine) => string, newlines: number): Piece {
  const heads = lines.map(headOf);
  let size = lines.length * newlines;
  for (const [index, { bytes }] of lines.entries()) size += bytes.length + (heads[index]?.length ?? 0);
  return makePiece(size, (frames, from) => {
    let at = from;
    for (const [index, { bytes }] of lines.entries()) {
      at += frames.write(heads[index] ?? "", at, "latin1");
      frames.set(bytes, at);
      at += bytes.length;
      for (let count = 0; count < newlines; count += 1) frames[at++] = NEWLINE;
    }
  });
}
