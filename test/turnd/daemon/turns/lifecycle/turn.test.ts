import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createTail } from "../../../../../src/turnd/daemon/event-log/tail.ts";
import type { StopOrder } from "../../../../../src/turnd/daemon/turns/lifecycle/inputs.ts";
import { createTurn, type Turn } from "../../../../../src/turnd/daemon/turns/lifecycle/turn.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { admittedFile } from "./inputs.ts";

function makeTurn(steerWaitMs = 60_000) {
  const directory = join(temporaryDirectory(onTestFinished), "turn");
  mkdirSync(directory);
  const unsaved: unknown[] = [];
  const turn = createTurn({
    file: admittedFile(),
    directory,
    tail: createTail(0, 0),
    steerWaitMs,
    onUnsaved: (_, error) => unsaved.push(error),
  });
  const onDisk = (): unknown => JSON.parse(readFileSync(join(directory, "turn.json"), "utf8"));
  return { turn, directory, onDisk, unsaved };
}

async function run(turn: Turn): Promise<StopOrder[]> {
  const orders: StopOrder[] = [];
  await turn.send({ type: "dequeued" });
  await turn.send({ type: "process_started", process: { stop: (order) => orders.push(order), abandonOutput() {} } });
  return orders;
}

test("a turn that runs is stopped when its reason is on the disk", async () => {
  const { turn, onDisk } = makeTurn();
  const orders = await run(turn);
  expect([turn.status, turn.life.phase]).toEqual(["running", "running"]);
  const sent = turn.send({ type: "watchdog_fired", reason: "idle_timeout" });
  expect(orders).toMatchObject([{ reason: "idle_timeout", isAtOnce: false }]);
  await orders[0]?.saved;
  expect(onDisk()).toMatchObject({ ended_by: "idle_timeout" });
  await sent;
  await turn.send({ type: "stop_requested", reason: "cancel" });
  expect([orders.length, turn.file.ended_by]).toEqual([1, "idle_timeout"]);
});

test("a disk that refuses the reason does not keep a turn from being stopped, nor from ending", async () => {
  const { turn, directory, unsaved } = makeTurn();
  const orders = await run(turn);
  rmSync(directory, { recursive: true });
  await turn.send({ type: "stop_requested", reason: "cancel" });
  await orders[0]?.saved;
  await turn.send({ type: "process_ended", mayStartAfresh: false });
  await turn.send({ type: "concluded", endedBy: "cancel", halted: undefined });
  expect([orders.length, unsaved.length, turn.life.phase]).toEqual([1, 2, "ending"]);
});

test("a reason that the disk refused is written with the turn's end, once there is room", async () => {
  const { turn, directory, onDisk } = makeTurn();
  const orders = await run(turn);
  rmSync(directory, { recursive: true });
  await turn.send({ type: "stop_requested", reason: "cancel" });
  await orders[0]?.saved;
  mkdirSync(directory);
  await turn.send({ type: "process_ended", mayStartAfresh: false });
  await turn.send({ type: "concluded", endedBy: "cancel", halted: undefined });
  expect(onDisk()).toMatchObject({ ended_by: "cancel" });
});

test("a fresh start is given up where the turn was cancelled while its halted resume was killed", async () => {
  const { turn } = makeTurn();
  const orders = await run(turn);
  await turn.send({ type: "halted" });
  await turn.send({ type: "stop_requested", reason: "cancel" });
  expect([orders, turn.startSignal.aborted]).toEqual([[expect.objectContaining({ isAtOnce: true })], false]);
  await turn.send({ type: "process_ended", mayStartAfresh: true });
  expect([turn.life.phase, turn.startSignal.aborted]).toEqual(["starting", true]);
});

test("a caller that stops a fresh start waits for its own process, not for that of the resume before it", async () => {
  const { turn } = makeTurn();
  await run(turn);
  const first = turn.stopped;
  await turn.send({ type: "halted" });
  await turn.send({ type: "stop_done" });
  await first;
  await turn.send({ type: "process_ended", mayStartAfresh: true });
  await run(turn);
  let isStopped = false;
  void turn.stopped.then(() => (isStopped = true));
  await turn.send({ type: "stop_requested", reason: "cancel" });
  expect(isStopped).toBe(false);
  await turn.send({ type: "stop_done" });
  await turn.stopped;
});

test("a start that cannot be written is refused to its caller", async () => {
  const { turn, directory, onDisk } = makeTurn();
  await turn.send({ type: "dequeued" });
  rmSync(directory, { recursive: true });
  const start = { started_at: "2026-01-01T00:00:00.000Z", requested_session: null };
  await expect(turn.send({ type: "prepared", start })).rejects.toMatchObject({ code: "ENOENT" });
  // Nothing ran: what is written once there is room must not show a start.
  mkdirSync(directory);
  await turn.send({ type: "failed" });
  const halted = { code: "storage_error" as const, message: "The disk is full." };
  await turn.send({ type: "concluded", endedBy: null, halted });
  expect(onDisk()).toEqual({ ...admittedFile(), halted });
});

test("a cancel of a turn that is left to the next start is on the disk when it is answered, or refused", async () => {
  const { turn, directory, onDisk } = makeTurn();
  await turn.send({ type: "dequeued" });
  await turn.send({ type: "stop_requested", reason: "shutdown" });
  await turn.send({ type: "start_given_up" });
  await turn.send({ type: "closed" });
  expect([turn.life.phase, turn.status]).toEqual(["postponed", "queued"]);
  rmSync(directory, { recursive: true });
  const cancel = { type: "stop_requested", reason: "cancel" } as const;
  await expect(turn.send(cancel)).rejects.toMatchObject({ code: "ENOENT" });
  mkdirSync(directory);
  await Promise.all([turn.send(cancel), turn.send(cancel)]);
  expect([onDisk(), turn.life.phase]).toEqual([{ ...admittedFile(), ended_by: "cancel" }, "postponed"]);
});

test("a turn that waits is given up at once when it is stopped, and shows its end when that is logged", async () => {
  const { turn } = makeTurn();
  await turn.send({ type: "stop_requested", reason: "session_deleted" });
  expect([turn.startSignal.aborted, turn.status]).toEqual([true, "queued"]);
  await turn.send({ type: "dequeued" });
  await turn.send({ type: "start_given_up" });
  void turn.send({ type: "end_logged", end: { status: "cancelled", at: "2026-01-01T00:00:00.000Z" } });
  expect([turn.status, turn.endedAt]).toEqual(["cancelled", "2026-01-01T00:00:00.000Z"]);
  await turn.send({ type: "closed" });
  await turn.finished;
});

test("a turn that is steered ends at its next step boundary, or when the wait is over", async () => {
  const atBoundary = makeTurn();
  const orders = await run(atBoundary.turn);
  await atBoundary.turn.send({ type: "step_boundary" });
  expect(orders).toEqual([]);
  await atBoundary.turn.send({ type: "steer_requested" });
  await atBoundary.turn.send({ type: "step_boundary" });
  expect(orders).toMatchObject([{ reason: "steer" }]);

  const waiting = makeTurn(1);
  const late = Promise.withResolvers<StopOrder>();
  await waiting.turn.send({ type: "dequeued" });
  await waiting.turn.send({ type: "process_started", process: { stop: late.resolve, abandonOutput() {} } });
  await waiting.turn.send({ type: "steer_requested" });
  expect(await late.promise).toMatchObject({ reason: "steer" });
});

test("a process that two sweeps at once have ended is listed once, with its last signal", async () => {
  const { turn } = makeTurn();
  await run(turn);
  const sweep = (pid: number, signal: string) =>
    turn.send({ type: "processes_swept", processes: [{ pid, command: "tool", signal }] });
  await sweep(7, "SIGINT");
  await sweep(8, "SIGKILL");
  await sweep(7, "SIGKILL");
  expect(turn.file.ended_processes).toEqual([
    { pid: 7, command: "tool", signal: "SIGKILL" },
    { pid: 8, command: "tool", signal: "SIGKILL" },
  ]);
});
