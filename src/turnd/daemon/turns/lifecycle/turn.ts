import type { Decision, TurnEndedData, TurnStatus } from "../../../protocol/index.ts";
import type { WritableTail } from "../../event-log/tail.ts";
import type { RunningCommand } from "../../process/keeper/tool-process.ts";
import { fileAfter, stopReasonIn } from "./file-after.ts";
import type { TurnAsks, End, Input, TurnProcess } from "./inputs.ts";
import { beginLife, type Life } from "./life.ts";
import { reasonOf, step, type Effect } from "./table.ts";
import { replaceTurnFile, writeTurnFile, type TurnFile } from "./turn-file.ts";

/**
 * A turn in memory: what is on disk, and what only a running daemon knows.
 *
 * Nothing outside this file changes any of it: everyone else reads, or sends an input, and the table says what follows.
 */
export interface Turn {
  readonly file: TurnFile;
  readonly directory: string;
  /** Where its log ends; every live reader waits on it, from the admission on. */
  readonly tail: WritableTail;
  readonly life: Life;
  readonly status: TurnStatus;
  readonly endedAt: string | undefined;
  /** When this daemon first prepared its process, in milliseconds of a clock that nobody sets; undefined where another did. */
  readonly preparedMs: number | undefined;
  /** The end, where the disk would not take it. */
  readonly unwrittenEnd: TurnEndedData | undefined;
  /** How the end was decided, until `result.json` says it. */
  readonly decision: Decision | undefined;
  /** Aborts when it is to end before a process exists: what is waited for is given up. */
  readonly startSignal: AbortSignal;
  /** Resolves when `turn.ended` is logged and the tree is gone, or turnd has stopped before anything of the turn ran. */
  readonly finished: Promise<void>;
  /**
   * Resolves when the processes of a turn that was stopped are gone; its last lines may still become events. Another one
   * where a fresh process takes the place of one that was stopped.
   */
  readonly stopped: Promise<void>;
  /** The command of the CLI's that runs now, as the system shows it. */
  runningCommand(): RunningCommand | undefined;
  /** What people are asked; undefined where nobody can be. */
  asks(): TurnAsks | undefined;
  /** Has it take in what a later turn says; undefined where it cannot. */
  takeInput(): TurnProcess["takeInput"];
  /** Resolves when it has a process for the first time, or has ended without one. */
  readonly attached: Promise<void>;
  /**
   * Takes an input. The phase has changed when this returns; what is written for it, when it resolves.
   *
   * @throws the system's error where `turn.json` could not be replaced and the sender must not go on without
   */
  send(input: Input): Promise<void>;
}

/** What lists show of a turn: of an ended one there need be no more in memory. */
export type ListedTurn = Pick<Turn, "file" | "status" | "endedAt" | "life"> & {
  readonly tail: Pick<WritableTail, "lastSeq">;
  /** Of a turn that may run. */
  readonly runningCommand?: Turn["runningCommand"];
};

/** How long a caller that stops a turn waits for the events of what was printed before: a turn may print for an hour what a CLI never would. */
export const LAST_LINES_MS = 2_000;

export interface TurnOptions {
  readonly file: TurnFile;
  readonly directory: string;
  readonly tail: WritableTail;
  /** Of a turn whose log has its end. */
  readonly end?: End;
  /** Longest wait for a step boundary, in milliseconds. */
  readonly steerWaitMs: number;
  /** Called where `turn.json` could not be replaced and the turn goes on all the same. */
  readonly onUnsaved: (turnId: string, error: unknown) => void;
}

/** Makes the owner of an admitted turn. */
export function createTurn(options: TurnOptions): Turn {
  const { directory, tail } = options;
  let { file, end } = options;
  let fileOnDisk = file;
  let life: Life = beginLife({ stopReason: stopReasonIn(file), isAfresh: file.degraded !== undefined });
  let preparedMs: number | undefined;
  let unwrittenEnd: TurnEndedData | undefined;
  let process: TurnProcess | undefined;
  let steerTimer: NodeJS.Timeout | undefined;
  let saving: Promise<void> = Promise.resolve();
  const starting = new AbortController();
  const finish = Promise.withResolvers<void>();
  const attach = Promise.withResolvers<void>();
  let stop = Promise.withResolvers<void>();

  /** One after the other, and each as the file is then; what the disk has refused before goes with the next. */
  function save(): Promise<void> {
    const saved = saving.then(write);
    saving = saved.catch(() => undefined);
    return saved;
  }

  /** What the sender does not go on with has not happened. */
  async function saveOrTakeBack(changed: TurnFile): Promise<void> {
    const before = file;
    file = changed;
    try {
      await save();
    } catch (error) {
      if (file === changed) file = before;
      throw error;
    }
  }

  async function write(): Promise<void> {
    const written = file;
    if (JSON.stringify(written) === JSON.stringify(fileOnDisk)) return;
    const isStopped = (written.ended_by ?? null) !== null;
    await (life.phase === "starting" && !isStopped ? replaceTurnFile : writeTurnFile)(directory, written);
    fileOnDisk = written;
  }

  function execute(effect: Effect, input: Input, saved: Promise<void>): Promise<void> {
    switch (effect) {
      case "abort_start":
        starting.abort();
        break;
      case "attach_process":
        if (input.type === "process_started") ({ process } = input);
        attach.resolve();
        break;
      case "stop_process":
        process?.stop({ reason: reasonOf(input) ?? life.stopReason, isAtOnce: input.type === "halted", saved });
        break;
      case "abandon_output":
        process?.abandonOutput();
        break;
      case "detach_process":
        process = undefined;
        break;
      case "renew_stops":
        stop = Promise.withResolvers<void>();
        break;
      case "start_steer_timer":
        steerTimer = setTimeout(() => void send({ type: "steer_wait_over" }), options.steerWaitMs);
        break;
      case "clear_steer_timer":
        clearTimeout(steerTimer);
        break;
      case "save":
        return saveOrTakeBack(fileAfter(file, life, input));
      case "save_if_possible":
        file = fileAfter(file, life, input);
        return save().catch((error: unknown) => options.onUnsaved(file.turn_id, error));
      case "note_end":
        if ("end" in input) ({ end } = input);
        if (input.type === "end_unwritable") unwrittenEnd = input.data;
        break;
      case "forget_decision":
        end = end && { status: end.status, at: end.at };
        break;
      case "answer_stops":
        stop.resolve();
        break;
      case "answer_waiters":
        attach.resolve();
        finish.resolve();
        break;
    }
    return saved;
  }

  function send(input: Input): Promise<void> {
    // Another attempt goes on with the first one's `started_at`.
    if (input.type === "prepared" && file.started_at === undefined) preparedMs = performance.now();
    const next = step(life, input);
    life = next.life;
    let saved: Promise<void> = Promise.resolve();
    for (const effect of next.effects) saved = execute(effect, input, saved);
    return saved;
  }

  if (end !== undefined) {
    life = { ...life, phase: "ended" };
    attach.resolve();
    finish.resolve();
    stop.resolve();
  }
  // Asked of an earlier daemon.
  if (life.stopReason !== undefined) starting.abort();

  return {
    get file() {
      return file;
    },
    directory,
    tail,
    get life() {
      return life;
    },
    get status() {
      return end?.status ?? (life.phase === "queued" || life.phase === "postponed" ? "queued" : "running");
    },
    get endedAt() {
      return end?.at;
    },
    get preparedMs() {
      return preparedMs;
    },
    get unwrittenEnd() {
      return unwrittenEnd;
    },
    get decision() {
      return end?.decision;
    },
    runningCommand: () => process?.runningCommand?.(),
    asks: () => process?.asks,
    takeInput: () => process?.takeInput,
    attached: attach.promise,
    startSignal: starting.signal,
    finished: finish.promise,
    get stopped() {
      return stop.promise;
    },
    send,
  };
}

/** Whether nothing more will happen to a turn. */
export function hasEnded({ life }: Pick<Turn, "life">): boolean {
  return life.phase === "ended";
}
