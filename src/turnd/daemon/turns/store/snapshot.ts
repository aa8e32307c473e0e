import { defined } from "../../../../kit/defined.ts";
import type { ExecutorName, TurnAdmission, TurnSnapshot } from "../../../protocol/index.ts";
import type { Redact } from "../../event-log/redact.ts";
import type { TurnFile } from "../lifecycle/turn-file.ts";
import type { ListedTurn } from "../lifecycle/turn.ts";

/** The answer to an admission. */
export function toAdmission(turn: Pick<ListedTurn, "file" | "status">, queuePosition: number): TurnAdmission {
  const { turn_id, request_id, session_id } = turn.file;
  return {
    turn_id,
    request_id,
    session_id,
    status: turn.status,
    queue_position: queuePosition,
    events_url: `/v1/turns/${encodeURIComponent(turn_id)}/events`,
    result_url: `/v1/turns/${encodeURIComponent(turn_id)}/result`,
  };
}

const MAX_COMMAND = 300;

/** A turn as it stands. @param redact - takes out the secrets of its session */
export function toSnapshot(turn: ListedTurn, queuePosition: number, redact: Redact): TurnSnapshot {
  const { file } = turn;
  const running = turn.status === "running" ? turn.runningCommand?.() : undefined;
  return {
    ...toAdmission(turn, queuePosition),
    executor: executorNameOf(file),
    mode: file.mode,
    workspace: file.workspace,
    ...defined({ model: file.model }),
    ...(file.input_excerpt === undefined ? {} : { input_excerpt: redact(file.input_excerpt) }),
    ...defined({ metadata: file.metadata }),
    created_at: file.created_at,
    ...defined({ started_at: file.started_at, ended_at: turn.endedAt }),
    last_seq: turn.tail.lastSeq(),
    ...(running === undefined
      ? {}
      : // Law: keys travel aside. Cut before, half of one would not be known.
        { running_command: { command: redact(running.command).slice(0, MAX_COMMAND), running_ms: running.runningMs } }),
  };
}

/** What runs a turn. A replay's `turn.json` names the CLI that was recorded, whose name its events carry. */
export function executorNameOf({ executor, replay }: TurnFile): ExecutorName {
  return replay === undefined ? executor : "replay";
}
