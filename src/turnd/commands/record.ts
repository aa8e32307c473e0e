import { access, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { TurnPath } from "../protocol/requests.ts";
import { RecordingError } from "../daemon/replay/recording-error.ts";
import { writeRecording } from "../daemon/replay/write-recording.ts";
import { redactTurns } from "../daemon/turns/store/read-turn-secrets.ts";
import { readEnd } from "../daemon/turns/store/load-turn.ts";
import type { Redact } from "../daemon/event-log/redact.ts";

export interface RecordOptions {
  readonly stateDirectory: string;
  readonly redact: Redact;
}

/**
 * Writes an ended turn of a state directory as a recording. It only reads there, so a daemon may be running on it.
 *
 * @throws {RecordingError} if there is no such turn, it has not ended, or the directory to be written is not empty
 */
export async function recordTurn(turnId: string, to: string, { stateDirectory, redact }: RecordOptions): Promise<void> {
  const from = await findTurn(turnId, stateDirectory);
  if ((await readEnd(from)) === undefined) {
    throw new RecordingError(from, "the turn has not ended; wait for its end or cancel it");
  }
  // A CLI's session has what an earlier turn has read.
  const turns = dirname(from);
  const siblings = (await readdir(turns)).map((name) => join(turns, name));
  await writeRecording(from, to, await redactTurns(redact, siblings));
}

async function findTurn(turnId: string, stateDirectory: string): Promise<string> {
  const sessions = join(stateDirectory, "sessions");
  // A name that is not an id could lead to any path.
  const isId = TurnPath.safeParse({ turn_id: turnId }).success;
  for (const session of isId ? await readdir(sessions) : []) {
    const directory = join(sessions, session, "turns", turnId);
    if (await exists(join(directory, "turn.json"))) return directory;
  }
  throw new RecordingError(sessions, `has no turn ${turnId}`);
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
