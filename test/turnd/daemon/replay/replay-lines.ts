import { findExecutor } from "../../../../src/turnd/daemon/executors/registry.ts";
import { openRecording } from "../../../../src/turnd/daemon/replay/recording.ts";
import { replayRecording } from "../../../../src/turnd/daemon/turns/replay/replay.ts";
import type { TurnEndedData } from "../../../../src/turnd/protocol/index.ts";

/** The time of every replayed fixture event, so that the committed lines stay the same. */
const FIXED_TIME = new Date("2026-01-01T00:00:00.000Z");

/** Replays a recording as its committed `events.jsonl` was made: at a fixed time, stdout before stderr. */
export async function replayLines(
  directory: string,
  options: { readonly keepsOrder?: boolean } = {},
): Promise<{ readonly text: string; readonly ended: TurnEndedData }> {
  const recording = await openRecording(directory);
  const executor = findExecutor(recording.turn.executor);
  if (executor === undefined) throw new Error(`no executor ${recording.turn.executor}`);
  const parts: Buffer[] = [];
  const ended = await replayRecording(recording, {
    executor,
    maxLineBytes: 16_777_216,
    now: () => FIXED_TIME,
    redact: (line) => line,
    keepsOrder: options.keepsOrder ?? false,
    write: (lines) => {
      parts.push(Buffer.from(lines));
      return Promise.resolve();
    },
  });
  return { text: Buffer.concat(parts).toString("utf8"), ended };
}
