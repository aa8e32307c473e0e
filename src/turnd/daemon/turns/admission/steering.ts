import type { Turn } from "../lifecycle/turn.ts";
import type { TurnQueue } from "./queue.ts";

/** Whether a turn that waits asks an earlier one of its session to end for it. */
export function isSteeredBy({ file }: Turn, { file: later }: Turn): boolean {
  return later.session_id === file.session_id && later.queue_policy === "steer" && later.order > file.order;
}

/** Puts an admitted turn in line by its policy. */
export function enqueue(queue: TurnQueue, turn: Turn): void {
  const running = queue.running(turn.file.session_id);
  if (turn.file.queue_policy !== "steer") return queue.push(turn);
  queue.pushFirst(turn);
  void running?.send({ type: "steer_requested" });
}

/** Takes a waiting turn out of line, and with the last one that steers what it asked; false when it is not waiting. */
export function dequeue(queue: TurnQueue, turn: Turn): boolean {
  if (!queue.remove(turn)) return false;
  const { session_id: sessionId } = turn.file;
  const running = queue.running(sessionId);
  const isSteered = running !== undefined && queue.waiting(sessionId).some((other) => isSteeredBy(running, other));
  if (!isSteered) void running?.send({ type: "steer_withdrawn" });
  return true;
}
