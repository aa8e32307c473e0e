import { constants } from "node:fs";
import { mkdir, open, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringifyRedacted } from "../event-log/redact-value.ts";
import { toRecordedTurn } from "./export.ts";
import { openWriter } from "./file-writer.ts";
import { bytesOf, readPieces } from "./pieces.ts";
import { openRecording, readRecordedInput } from "./recording.ts";
import { RecordingError } from "./recording-error.ts";
import type { Redact } from "../event-log/redact.ts";

/** Files that are read line by line: secrets are taken out of them, and their line numbers stay. */
const LINE_FILES = ["stdout.jsonl", "stderr.log", "events.jsonl"] as const;

/**
 * Writes a recording directory anew, with what a replay needs and nothing else, secrets taken out. Law: keys travel
 * aside.
 *
 * `turn.json` comes last: a directory without it is no recording, so an interrupted one is not mistaken for one.
 * @param to - is made where it is missing
 * @throws {RecordingError} if `from` is no recording, or `to` has something in it
 */
export async function writeRecording(from: string, to: string, redact: Redact): Promise<void> {
  const recording = await openRecording(from);
  const input = await readRecordedInput(from);
  await mkdir(to, { recursive: true });
  // Where others can rename it, another directory could take its place, with links to files that they want written.
  const directory = await open(to, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const held = `/proc/self/fd/${directory.fd}`;
    if ((await readdir(held)).length > 0) throw new RecordingError(to, "is not empty; name a directory to be made");
    for (const name of LINE_FILES) await writePieces(join(from, name), join(held, name), redact);
    const write = (name: string, text: string): Promise<void> =>
      writeFile(join(held, name), text, { mode: 0o600, flag: "wx" });
    if (recording.exit !== null) await write("exit.json", `${JSON.stringify(recording.exit)}\n`);
    if (input !== undefined) await write("prompt.txt", redact(input));
    await write("turn.json", `${stringifyRedacted(toRecordedTurn(recording), redact, 2)}\n`);
  } finally {
    await directory.close();
  }
}

async function writePieces(from: string, to: string, redact: Redact): Promise<void> {
  const file = await openWriter(to);
  try {
    for await (const piece of readPieces(from, redact)) await file.write(bytesOf(piece));
  } finally {
    await file.close();
  }
}
