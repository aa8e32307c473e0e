import type { RecordedTurn, RecordingDocument, TimelineEntry } from "../../protocol/index.ts";
import { stringifyRedacted } from "../event-log/redact-value.ts";
import { readPieces } from "./pieces.ts";
import { openRecording, readRecordedInput, type Recording } from "./recording.ts";
import type { Redact } from "../event-log/redact.ts";

/** Parts of the document are sent together, so that a small line is not a chunk of its own. */
const CHUNK_CHARACTERS = 65_536;

/**
 * Writes a recording directory as one JSON document, one element per line, secrets taken out. Law: keys travel aside.
 *
 * Gives chunks of text. One piece of output is in memory at a time, whatever the recording's size.
 * @throws {RecordingError} before the first chunk, if the directory is no recording
 */
export async function* exportRecording(directory: string, redact: Redact): AsyncGenerator<string> {
  const recording = await openRecording(directory);
  let chunk = "";
  for await (const part of renderDocument(recording, await readRecordedInput(directory), redact)) {
    chunk += part;
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = "";
  }
  yield chunk;
}

async function* renderDocument(
  recording: Recording,
  input: string | undefined,
  redact: Redact,
): AsyncGenerator<string> {
  const { exit, timeline, stdoutPath, stderrPath } = recording;
  const render = (value: unknown): string => stringifyRedacted(value, redact);
  const version: RecordingDocument["v"] = 1;
  yield `{"v":${version},\n"turn":${render(toRecordedTurn(recording))},\n"exit":${JSON.stringify(exit)},\n`;
  if (input !== undefined) yield `"input":${JSON.stringify(redact(input))},\n`;
  yield* renderList("stdout", readPieces(stdoutPath, redact), JSON.stringify);
  yield ",\n";
  yield* renderList("stderr", readPieces(stderrPath, redact), JSON.stringify);
  if (timeline !== undefined) {
    yield ",\n";
    yield* renderList<TimelineEntry>("timeline", timeline(), render);
  }
  yield "}\n";
}

/** The facts of a recorded turn, as a document has them. */
export function toRecordedTurn({ turn: { v: _version, replay: _replay, ...turn } }: Recording): RecordedTurn {
  return turn;
}

async function* renderList<T>(
  field: string,
  values: AsyncIterable<T>,
  render: (value: T) => string,
): AsyncGenerator<string> {
  let separator = "\n";
  yield `"${field}":[`;
  for await (const value of values) {
    yield separator + render(value);
    separator = ",\n";
  }
  yield "\n]";
}
