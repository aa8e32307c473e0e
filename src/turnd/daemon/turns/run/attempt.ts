import type { Logger } from "pino";
import { defined } from "../../../../kit/defined.ts";
import type { FailureDraft } from "../../executors/contract/failures.ts";
import type { Activity, Outcome } from "../../executors/contract/translator.ts";
import type { DriftWatch } from "../../executors/contract/records.ts";
import { followOutput, joinRuns, type TakenLine } from "../../process/output/follow.ts";
import { describeTool, type RunningCommand } from "../../process/keeper/tool-process.ts";
import type { SweepError } from "../../process/keeper/tree.ts";
import type { KeptExit } from "../../process/keeper/wait-exit.ts";
import { consumeOutput, type ConsumeResult, type ConsumeOptions, type OutputReport } from "./consume.ts";
import type { TurnLimits } from "../lifecycle/limits.ts";
import { executorOf, type Executors } from "../executors/executors.ts";
import type { Backfill } from "./backfill-output.ts";
import { boundOutput } from "./output-bound.ts";
import type { StopOrder } from "../lifecycle/inputs.ts";
import { ranForMs } from "../lifecycle/ran-for.ts";
import { LAST_LINES_MS, type Turn } from "../lifecycle/turn.ts";
import { sweepOrReport, type TurnBody } from "./turn-body.ts";
import { startWatch, type WatchOptions } from "./watch.ts";

export interface AttemptParts {
  readonly executors: Executors;
  readonly limits: Pick<
    TurnLimits,
    "startTimeoutMs" | "exitTimeoutMs" | "maxOutputBytes" | "maxLineBytes" | "maxToolOutputBytes"
  >;
  readonly backfill: Pick<Backfill, "recover">;
  /** How many of the last characters of a session's text may be the beginning of a secret. */
  readonly holdBackOf: (sessionId: string) => (text: string) => number;
  readonly now: () => Date;
  readonly logger: Logger;
}

export interface AttemptOptions {
  readonly body: TurnBody;
  /** Where an earlier daemon had got to; absent for a process that was just started. */
  readonly taken?: AsyncIterable<TakenLine>;
  readonly requestedSession: string | null;
  readonly emit: ConsumeOptions["emit"];
  /** Whether what an earlier daemon had logged has been read again: what comes now is added to the log. */
  readonly isCaughtUp: () => boolean;
  /** Called where the log was full before all was read, before the rest is cut off: a daemon that ends in between leaves both to do. */
  readonly onOutputCut: () => Promise<void>;
}

/** What became of one process. */
export interface AttemptResult extends ConsumeResult {
  readonly exit: KeptExit | null;
  /** Something of the tree would not die. */
  readonly sweepError: SweepError | undefined;
  /** What of turnd's own has ended it. */
  readonly fault: FailureDraft | undefined;
}

/**
 * Follows one process of a turn to its end: translates, watches, stops it when the turn is to end, sweeps. Laws: the
 * recording is the transport and nothing outlives its turn.
 *
 * Resolves when the last line is translated and the tree is empty. What happens on the way is sent to the turn.
 */
export async function followAttempt(parts: AttemptParts, turn: Turn, options: AttemptOptions): Promise<AttemptResult> {
  const { executor, drift } = executorOf(parts.executors, turn.file.executor);
  const { limits } = parts;
  const { body } = options;
  const finished = new AbortController();
  const stopped = new AbortController();
  const output = boundOutput({
    maxBytes: limits.maxOutputBytes,
    // What is read again was let in before, and takes no more room.
    logBytes: () => (options.isCaughtUp() ? turn.tail.size() : 0),
    onBeyond: () => void turn.send({ type: "output_limit_reached" }),
  });
  const gone = Promise.withResolvers<void>();
  let recovering: Promise<boolean> | undefined;
  let stopping: Promise<void> | undefined;

  function stop(order: StopOrder): void {
    stopped.abort();
    stopping = body.stop(order);
    // What cannot even be killed must not keep the turn from ending. Law: one end.
    stopping.catch(() => finished.abort());
    void whenGone().then(() => turn.send({ type: "stop_done" }));
  }
  /** What is being deleted needs no log of all that was printed, where that takes long. */
  function abandonOutput(): void {
    void whenGone().then(() => setTimeout(output.abandon, LAST_LINES_MS).unref());
  }
  async function whenGone(): Promise<void> {
    await gone.promise;
    await Promise.allSettled([stopping, recovering]);
  }
  let toolFreeMs = 0;
  const findTool = () => body.findTool(toolFreeMs);
  function runningCommand(): RunningCommand | undefined {
    const tool = findTool();
    return tool && describeTool(tool);
  }
  const watch = startWatch({
    // What has ended before it is followed has ended in time: turnd may have been down since.
    ...(body.isRunning() ? clocksOf(limits, turn, parts.now()) : NO_CLOCKS),
    isToolAtWork: () => (translator.activity?.() ?? NO_ACTIVITY).hasOpenTool || findTool() !== undefined,
    onFire: (reason) => void turn.send({ type: "watchdog_fired", reason }),
  });
  void turn.send({
    type: "process_started",
    process: { stop, abandonOutput, runningCommand, ...defined({ asks: body.asks, takeInput: body.takeInput }) },
  });

  async function waitForEnd(): Promise<{ exit: KeptExit | null; sweepError: SweepError | undefined }> {
    try {
      const exit = await body.untilEnded(finished.signal).finally(watch.stop);
      const sweepError = await sweepOrReport(body, stopping);
      return { exit: exit ?? (await body.lateExit()), sweepError };
    } finally {
      finished.abort();
      gone.resolve();
    }
  }
  const ended = waitForEnd();
  // It may fail long before it is asked for.
  ended.catch(() => undefined);
  const lookForDrift = drift.watch(turn.file.cli_version, turn.file.turn_id);
  // No client waits for what is looked for in a record: it is done when its events are on their way.
  let unlooked: Parameters<DriftWatch>[] = [];
  const translator = executor.createTranslator({
    requestedSession: options.requestedSession,
    ...defined({ cliVersion: turn.file.cli_version, usageBefore: turn.file.usage_before }),
    ...(body.transport === "interactive"
      ? {
          transport: body.transport,
          maxToolOutputBytes: limits.maxToolOutputBytes,
          holdBack: parts.holdBackOf(turn.file.session_id),
        }
      : {}),
    drift: (record, line) => void unlooked.push([record, line]),
  });
  const outcome = async (): Promise<Outcome> => ({ exit: (await ended).exit, wasStopped: stopping !== undefined });

  let hasAskedStore = false;
  async function hasMore(): Promise<boolean> {
    const lost = hasAskedStore ? undefined : translator.findLost?.(await outcome());
    hasAskedStore = true;
    if (lost === undefined || stopped.signal.aborted) return false;
    recovering = parts.backfill.recover(turn, lost, { signal: stopped.signal, logger: parts.logger });
    return recovering;
  }

  function notice(report: OutputReport): void {
    switch (report.type) {
      case "output_read":
        watch.observe({ ...report.batch, request: report.request, ...(translator.activity?.() ?? NO_ACTIVITY) });
        output.observe(report.batch);
        for (const [record, line] of unlooked) lookForDrift(record, line);
        unlooked = [];
        break;
      case "tool_free":
        // What is read again after a restart was printed before now.
        toolFreeMs = report.printedAt ?? (options.isCaughtUp() ? Date.now() - READ_WITHIN_MS : toolFreeMs);
        break;
      case "halted":
        parts.logger.warn({ turnId: turn.file.turn_id, rule: report.halt.rule }, "process halted");
        void turn.send({ type: "halted" });
        break;
      case "step_boundary":
        // One that an earlier daemon has passed is none any more: a tool may be at work since.
        if (options.isCaughtUp()) void turn.send({ type: "step_boundary" });
    }
  }

  const consuming = consumeOutput({
    translator,
    output: (take) =>
      followOutput({
        stdoutPath: `${turn.directory}/stdout.jsonl`,
        stderrPath: `${turn.directory}/stderr.log`,
        maxLineBytes: limits.maxLineBytes,
        maxBytes: limits.maxOutputBytes,
        ...defined({ taken: options.taken && joinRuns(options.taken) }),
        finished: finished.signal,
        abandoned: output.abandoned,
        hasMore,
        atOnce: take,
      }),
    isHeldUntilBound: options.requestedSession !== null,
    emit: options.emit,
    report: notice,
    outcome,
  });
  // A bug of ours must not leave the process to itself. Law: nothing outlives its turn.
  const consumed = await consuming.catch(async (error: unknown) => {
    await turn.send({ type: "halted" });
    await Promise.allSettled([ended, stopping]);
    throw error;
  });
  const end = await ended;
  // What is stopped after its end is swept by the turn's mark, which the turn's next process carries too.
  await Promise.allSettled([stopping]);
  if (output.isLogFull()) await options.onOutputCut();
  await output
    .cut(turn.directory)
    .catch((error: unknown) =>
      parts.logger.warn({ turnId: turn.file.turn_id, err: error }, "output that was not read could not be cut off"),
    );
  return { ...consumed, ...end, fault: body.fault?.() };
}

/** A record without a time of its own was printed so long ago at most: a tool may have been started since. */
const READ_WITHIN_MS = 1_000;

/** Of a CLI of which it is not known. */
const NO_ACTIVITY: Activity = { isComplete: false, hasOpenTool: false };

type Clocks = Omit<WatchOptions, "onFire" | "isToolAtWork">;

const NO_CLOCKS: Clocks = { startTimeoutMs: 0, idleTimeoutMs: 0, exitTimeoutMs: 0, turnRemainingMs: undefined };

function clocksOf({ startTimeoutMs, exitTimeoutMs }: AttemptParts["limits"], turn: Turn, now: Date): Clocks {
  return {
    startTimeoutMs,
    exitTimeoutMs,
    idleTimeoutMs: turn.file.idle_timeout_ms,
    turnRemainingMs: remainingMs(turn, now),
  };
}

/** Of a process that runs on while turnd is down, that time counts. */
function remainingMs(turn: Turn, now: Date): number | undefined {
  if (turn.file.timeout_ms === 0) return undefined;
  const startedAt = turn.file.started_at === undefined ? now : new Date(turn.file.started_at);
  return turn.file.timeout_ms - (ranForMs(turn) ?? now.getTime() - startedAt.getTime());
}
