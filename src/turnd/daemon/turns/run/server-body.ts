import { closeSync, constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { defined } from "../../../../kit/defined.ts";
import type { AnsweredBy } from "../../../protocol/index.ts";
import type { FailureDraft } from "../../executors/contract/failures.ts";
import type {
  AnswerTaken,
  AskAnswer,
  Conversation,
  GivenInput,
  PendingAsk,
} from "../../executors/contract/interactive.ts";
import { findToolProcess } from "../../process/keeper/tool-process.ts";
import { isAlone } from "../../process/server/server-process.ts";
import type { KeptExit } from "../../process/keeper/wait-exit.ts";
import { isStorageError } from "../../storage/storage-error.ts";
import { ownFailure } from "../outcome/own-failure.ts";
import type { Turn } from "../lifecycle/turn.ts";
import type { Servers } from "./servers.ts";
import { writeSpan, type SpanFile } from "./span-file.ts";
import { graceOf, type BodyParts, type TurnBody } from "./turn-body.ts";
import type { WarmServer } from "./warm-server.ts";

export interface ServerBodyParts extends BodyParts {
  readonly servers: Servers;
  readonly limits: BodyParts["limits"] & {
    /** How long a silent server may take to answer a ping. */
    readonly answerMs: number;
    /** How long a person has to answer. */
    readonly approvalMs: number;
  };
}

export interface ServerBodyOptions {
  readonly server: WarmServer;
  readonly conversation: Conversation;
  /** Whether the server may do the next turn too. */
  readonly isKept: boolean;
  readonly span: SpanFile;
}

/** A turn that a server does. */
export interface ServerBody extends TurnBody {
  /** Begins to talk, or goes on. */
  begin(): void;
  /** What of turnd's own has ended it. */
  fault(): FailureDraft | undefined;
}

/** Silent for so long, a server is asked for a sign of life. */
const SILENT_MS = 15_000;
const LOOK_MS = 5_000;
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;

/**
 * Has a server do a turn: what it prints is copied into the turn's own files, line by line, with what turnd asks before it is
 * asked. From there on the turn is as any other. Laws: the recording is the transport and at most once.
 */
export function createServerBody(parts: ServerBodyParts, turn: Turn, options: ServerBodyOptions): ServerBody {
  const { server, conversation, span } = options;
  const { session_id: sessionId } = turn.file;
  const stdout = openSync(join(turn.directory, "stdout.jsonl"), APPEND, 0o600);
  const stderr = openSync(join(turn.directory, "stderr.log"), APPEND, 0o600);
  const over = Promise.withResolvers<void>();
  const asked = new Map<string, { readonly timer: NodeJS.Timeout; readonly expiresAt: string }>();
  let fault: FailureDraft | undefined;
  let lastMs = performance.now();
  let isBegun = false;
  let isDriving = false;
  let isClosed = false;

  function fail(error: unknown): void {
    fault ??= isStorageError(error)
      ? ownFailure("storage_error", `The turn's output could not be written: ${error.message}`)
      : ownFailure(
          "crashed",
          `The server could not be asked: ${error instanceof Error ? error.message : String(error)}`,
        );
    void endAtOnce();
  }

  /** What will not even end so is found when the turn is swept. */
  async function endAtOnce(): Promise<void> {
    await server.process.end(0).catch(() => undefined);
  }

  /** @returns whether it was written */
  function append(file: number, bytes: Buffer | string): boolean {
    if (isClosed || fault !== undefined) return false;
    try {
      const all = Buffer.from(bytes);
      for (let at = 0; at < all.length;) at += writeSync(file, all, at);
      return true;
    } catch (error) {
      fail(error);
      return false;
    }
  }

  function takeStdout(bytes: Buffer): void {
    lastMs = performance.now();
    const lines = bytes.toString("utf8").split("\n");
    lines.pop();
    const hasAsides = lines.some((line) => server.interactive.isAside(line));
    const own = hasAsides ? lines.filter((line) => !server.interactive.isAside(line)) : lines;
    if (own.length === 0) return;
    // The very bytes, where all of them are the turn's.
    if (!append(stdout, hasAsides ? `${own.join("\n")}\n` : bytes)) return;
    for (const line of own) conversation.observe(line);
    drive();
  }

  /** Says what is to be said now: first on the disk, then to the server. */
  function drive(): void {
    if (isDriving || isClosed || !isBegun) return;
    isDriving = true;
    try {
      for (let out = conversation.next(); out.length > 0; out = conversation.next()) {
        for (const { record, message } of out) {
          if (record !== undefined) {
            if (!append(stdout, `${record}\n`)) return;
            conversation.observe(record);
          }
          if (message !== undefined) server.process.channel.write(`${message}\n`).catch(fail);
        }
      }
    } finally {
      isDriving = false;
    }
    noteAsks();
    const state = conversation.state();
    server.threadId = state.threadId;
    if (state.isOver) over.resolve();
  }

  /** Nobody waits for ever: what is not answered in time is declined. Law: every wait is bounded. */
  function noteAsks(): void {
    const open = conversation.state().asks;
    for (const ask of open) {
      const id = idOf(ask);
      if (asked.has(id)) continue;
      const decline = (): void => {
        const answer =
          ask.kind === "approval"
            ? ({ kind: "approval", decision: "decline" } as const)
            : ({ kind: "input", answers: {} } as const);
        answerAs("timeout", id, answer);
      };
      const expiresAt = new Date(Date.now() + parts.limits.approvalMs).toISOString();
      asked.set(id, { timer: setTimeout(decline, parts.limits.approvalMs).unref(), expiresAt });
    }
    const ids = new Set(open.map(idOf));
    for (const [id, { timer }] of asked) {
      if (ids.has(id)) continue;
      clearTimeout(timer);
      asked.delete(id);
    }
  }

  function answerAs(by: AnsweredBy, id: string, answer: AskAnswer): AnswerTaken {
    const taken = conversation.answer(id, answer, by);
    if (taken === "taken") drive();
    return taken;
  }

  const detach = server.attach({ stdout: takeStdout, stderr: (bytes) => void append(stderr, bytes) });
  const watch = setInterval(() => void lookAlive(), LOOK_MS);
  watch.unref();

  /** A server whose output cannot be written stays silent for ever, and does not end. */
  async function lookAlive(): Promise<void> {
    if (performance.now() - lastMs < SILENT_MS || isClosed) return;
    lastMs = performance.now();
    if (await server.answers(parts.limits.answerMs)) return;
    if (!isClosed) await endAtOnce();
  }

  async function close(): Promise<void> {
    if (isClosed) return;
    server.look();
    isClosed = true;
    clearInterval(watch);
    for (const { timer } of asked.values()) clearTimeout(timer);
    const { stdout: end, stderr: errorEnd } = server.position();
    detach();
    closeSync(stdout);
    closeSync(stderr);
    await writeSpan(turn.directory, {
      ...span,
      stdout: [span.stdout[0] ?? 0, end],
      stderr: [span.stderr[0] ?? 0, errorEnd],
    }).catch((error: unknown) => parts.logger.warn({ turnId: turn.file.turn_id, err: error }, "span of a turn"));
  }

  return {
    transport: "interactive",
    begin() {
      isBegun = true;
      drive();
    },
    fault: () => fault,
    isRunning: () => server.process.isRunning(),
    findTool: (sinceMs) => findToolProcess(server.process.cli(), sinceMs),
    async untilEnded(signal) {
      const aborted = new Promise<null>((resolve) => {
        if (signal.aborted) resolve(null);
        signal.addEventListener("abort", () => resolve(null), { once: true });
      });
      const ended: Promise<KeptExit | null> = Promise.race([
        over.promise.then(() => null),
        server.process.exited,
        aborted,
      ]);
      const exit = await ended;
      // What it printed last is there, and nothing of it comes after this.
      await close();
      return exit;
    },
    async stop(order) {
      await order.saved;
      if (!order.isAtOnce) {
        conversation.interrupt();
        drive();
        const grace = graceOf(order, parts.limits);
        const given = new AbortController();
        await Promise.race([
          over.promise,
          server.process.exited,
          delay(grace, undefined, { signal: AbortSignal.any([given.signal, parts.graceOver]) }).catch(() => undefined),
        ]);
        given.abort();
      }
      const isOver = conversation.state().isOver;
      if (isOver && (await isAlone(server.process)) && order.reason !== "shutdown") return;
      const ended = await server.process.end(isOver ? parts.limits.cancelGraceMs : 0);
      const others = ended.filter(({ pid }) => pid !== server.process.started.pid);
      parts.observer.processesSwept(others.length);
      await turn.send({ type: "processes_swept", processes: others });
    },
    async sweep(stopping) {
      await stopping;
      await close();
      const isClean = conversation.state().isOver && fault === undefined && server.isFit && server.process.isRunning();
      if (isClean && options.isKept && server.key !== "" && (await isAlone(server.process))) {
        parts.servers.release(sessionId, server);
        return;
      }
      // What it left behind is found by the end of all that it has started. Law: nothing outlives its turn.
      const left = server.process.leftovers().length;
      await parts.servers.discard(sessionId, server);
      parts.observer.processesSwept(left);
    },
    lateExit: () => Promise.resolve(null),
    ...(conversation.give === undefined
      ? {}
      : {
          takeInput(input: GivenInput) {
            conversation.give?.(input);
            drive();
          },
        }),
    asks: {
      pending: () => conversation.state().asks.map((ask) => untilWhen(ask, asked.get(idOf(ask))?.expiresAt)),
      answer: (id, answer) => answerAs("client", id, answer),
    },
  };
}

function idOf(ask: PendingAsk): string {
  return ask.kind === "approval" ? ask.request.approval_id : ask.request.question_id;
}

/** What is asked, with the moment in which turnd answers in a person's place. */
function untilWhen(ask: PendingAsk, expiresAt: string | undefined): PendingAsk {
  const until = defined({ expires_at: expiresAt });
  return ask.kind === "approval"
    ? { ...ask, request: { ...ask.request, ...until } }
    : { ...ask, request: { ...ask.request, ...until } };
}
