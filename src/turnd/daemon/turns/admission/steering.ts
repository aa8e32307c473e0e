import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Turn } from "../lifecycle/turn.ts";
import type { TurnFile } from "../lifecycle/turn-file.ts";
import type { TurnQueue } from "./queue.ts";

/** Whether a turn that waits asks an earlier one of its session to end for it. */
export function isSteeredBy({ file }: Turn, { file: later }: Turn): boolean {
  const isAsking = later.queue_policy === "steer" && later.steer_mode !== "inject" && later.given_to !== file.turn_id;
  return later.session_id === file.session_id && isAsking && later.order > file.order;
}

/** Puts an admitted turn in line by its policy; resolves when the one that runs has been told of it. */
export async function enqueue(queue: TurnQueue, turn: Turn): Promise<void> {
  const running = queue.running(turn.file.session_id);
  if (turn.file.queue_policy !== "steer") return queue.push(turn);
  queue.pushFirst(turn);
  if (running === undefined) return;
  const mayGive = turn.file.steer_mode !== "interrupt" && saysTextAlone(running.file, turn.file);
  // A process of its own can take nothing in, and what it is asked for meanwhile does not wait for it.
  const isStarting = running.life.phase === "starting";
  if (turn.file.steer_mode !== "inject" && (isStarting || !mayGive || running.takeInput() === undefined)) {
    void running.send({ type: "steer_requested" });
  }
  if (!mayGive) return;
  if (isStarting) await running.attached;
  if (await give(running, turn)) withdrawUnlessSteered(queue, running);
}

/**
 * Gives the running turn what a later one says. That one keeps its place in line: what was not taken in is done next.
 *
 * @returns false where the running turn can take nothing in
 */
async function give(running: Turn, later: Turn): Promise<boolean> {
  if (running.takeInput() === undefined) return false;
  const { turn_id: turnId, request_id: requestId } = later.file;
  const prompt = await readFile(join(later.directory, "prompt.txt"), "utf8");
  // First on the disk, where it is looked for whether that turn took it. Law: at most once.
  await later.send({ type: "given", to: running.file.turn_id });
  if (later.file.given_to === running.file.turn_id)
    running.takeInput()?.({ turnId, requestId, prompt, nowMs: Date.now() });
  return true;
}

/** What a turn asks for besides: only where that is as in the running one can its text be said there. */
const SETTINGS = ["mode", "model", "agent", "effort", "output_schema", "permissions", "mcp_servers"] as const;

function saysTextAlone(running: TurnFile, later: TurnFile): boolean {
  if (later.images.length > 0 || later.instructions !== undefined || later.workspace !== running.workspace)
    return false;
  return SETTINGS.every(
    (name) => later[name] === undefined || JSON.stringify(later[name]) === JSON.stringify(running[name]),
  );
}

/** Takes a waiting turn out of line, and with the last one that steers what it asked; false when it is not waiting. */
export function dequeue(queue: TurnQueue, turn: Turn): boolean {
  if (!queue.remove(turn)) return false;
  const running = queue.running(turn.file.session_id);
  if (running !== undefined) withdrawUnlessSteered(queue, running);
  return true;
}

function withdrawUnlessSteered(queue: TurnQueue, running: Turn): void {
  const isSteered = queue.waiting(running.file.session_id).some((other) => isSteeredBy(running, other));
  if (!isSteered) void running.send({ type: "steer_withdrawn" });
}
