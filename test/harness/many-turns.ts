import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** How the copies of an ended turn are made. */
export interface ManyTurns {
  /** `state` of a turnd that does not run. */
  readonly state: string;
  /** A session with one ended turn. */
  readonly sessionId: string;
  readonly turnId: string;
  readonly sessions: number;
  readonly turnsPerSession: number;
}

/**
 * Copies an ended turn, in sessions of their own: `session-copy-0` has the first, and so the oldest. Each has its number as
 * its prompt: `turn number 0`.
 */
export function plantTurns({ state, sessionId, turnId, sessions, turnsPerSession }: ManyTurns): void {
  const directory = join(state, "sessions", sessionId);
  const startMs = Date.parse(readJson(join(directory, "session.json"))["created_at"] ?? "");
  for (let session = 0; session < sessions; session += 1) {
    const id = `session-copy-${session}`;
    const to = join(state, "sessions", id);
    cpSync(directory, to, { recursive: true });
    renameSync(join(to, "turns", turnId), join(to, "template"));
    for (let turn = 0; turn < turnsPerSession; turn += 1) {
      const order = session * turnsPerSession + turn;
      const copy = turnId.slice(0, -12) + String(order).padStart(12, "0");
      const at = join(to, "turns", copy);
      cpSync(join(to, "template"), at, { recursive: true });
      renameSync(join(at, `request.${turnId}`), join(at, `request.${copy}`));
      // Before the template, each a millisecond after the one before it.
      const createdAt = new Date(startMs - sessions * turnsPerSession + order).toISOString();
      const input = { input_excerpt: `turn number ${order}`, created_at: createdAt, order: order + 1 };
      change(join(at, "turn.json"), { turn_id: copy, request_id: copy, session_id: id, ...input });
      for (const name of ["events.jsonl", "result.json"]) replaceIds(join(at, name), [turnId, copy], [sessionId, id]);
      if (turn === 0) change(join(to, "session.json"), { session_id: id, created_at: createdAt });
    }
    rmSync(join(to, "template"), { recursive: true });
  }
}

function change(path: string, fields: Readonly<Record<string, unknown>>): void {
  writeFileSync(path, JSON.stringify({ ...readJson(path), ...fields }));
}

function replaceIds(path: string, ...pairs: readonly (readonly [string, string])[]): void {
  const text = readFileSync(path, "utf8");
  writeFileSync(
    path,
    pairs.reduce((now, [from, to]) => now.replaceAll(from, to), text),
  );
}

function readJson(path: string): Record<string, string> {
  return JSON.parse(readFileSync(path, "utf8"));
}
