import { join } from "node:path";
import { createTail } from "../../event-log/tail.ts";
import { TurnStatusAtEnd } from "../../../protocol/index.ts";
import { secretsOfServers } from "../../executors/secrets/server-secrets.ts";
import { keyOf } from "../../state-index/file-key.ts";
import type { TurnRow } from "../../state-index/rows.ts";
import { beginLife } from "../lifecycle/life.ts";
import { createTurn, hasEnded, type ListedTurn, type Turn } from "../lifecycle/turn.ts";
import { TurnFile } from "../lifecycle/turn-file.ts";
import type { Lifecycle } from "./load-turn.ts";

/** The status of a row whose turn is in memory: it has not ended, or is not done with yet. */
export const OPEN = "open";

const ENDED = { ...beginLife(), phase: "ended" } as const;

/** What recognises a turn's directory, its `turn.json` and its log. */
export function keyOfTurn(directory: string): string {
  return keyOf([directory, join(directory, "turn.json"), join(directory, "events.jsonl")]);
}

/** What the index keeps of a turn that was admitted; of one that has ended and is done with, where `isFinal`. */
export function toRow({ file, directory, tail, ...turn }: Turn, { isFinal }: { readonly isFinal: boolean }): TurnRow {
  return {
    turn_id: file.turn_id,
    session_id: file.session_id,
    request_id: file.request_id,
    place: file.order,
    status: isFinal ? turn.status : OPEN,
    ended_at: turn.endedAt ?? null,
    last_seq: tail.lastSeq(),
    has_secrets: secretsOfServers(file.mcp_servers ?? {}).length > 0,
    key: isFinal ? keyOfTurn(directory) : "",
    data: isFinal ? JSON.stringify(withoutGiven(file)) : "{}",
  };
}

/** Whatever is long, or secret, and is shown of no ended turn, is only in its directory. */
function withoutGiven(file: TurnFile): TurnFile {
  const {
    output_schema: _schema,
    mcp_servers: _servers,
    instructions: _instructions,
    permissions: _permissions,
    args: _args,
    usage_before: _usage,
    provider_fault: _fault,
    degraded: _degraded,
    halted: _halted,
    taken: _taken,
    traceparent: _traceparent,
    span: _span,
    ...rest
  } = file;
  return rest;
}

/** An ended turn as the index knows it. */
export function fromRow(row: TurnRow, turnsDirectory: string, lifecycle: Lifecycle): Turn {
  const file = TurnFile.parse(JSON.parse(row.data));
  const tail = createTail(0, row.last_seq);
  tail.end();
  return createTurn({
    file,
    directory: join(turnsDirectory, row.turn_id),
    tail,
    end: { status: TurnStatusAtEnd.parse(row.status), at: row.ended_at ?? file.created_at },
    ...lifecycle,
  });
}

/** What lists show of it: a hundred of these take less than ten turns. */
export function listedFromRow(row: TurnRow): ListedTurn {
  const file = TurnFile.parse(JSON.parse(row.data));
  return {
    file,
    status: TurnStatusAtEnd.parse(row.status),
    endedAt: row.ended_at ?? file.created_at,
    life: ENDED,
    tail: { lastSeq: () => row.last_seq },
  };
}

/** Whether nothing is to be kept of a turn in memory: its end, and how it was decided, are on the disk. */
export function isDone(turn: Turn): boolean {
  return hasEnded(turn) && turn.unwrittenEnd === undefined && turn.decision === undefined;
}
