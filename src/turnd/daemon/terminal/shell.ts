import { rm } from "node:fs/promises";
import { finished } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { defined } from "../../../kit/defined.ts";
import type { ShellEndedBy, ShellExit, ShellSession, TerminalSize } from "../../protocol/index.ts";
import { readExit } from "../process/keeper/keeper.ts";
import { stopTree, sweepTree } from "../process/keeper/tree.ts";
import { waitForExit } from "../process/keeper/wait-exit.ts";
import type { TerminalContext } from "./terminal-parts.ts";
import { createIdleWatch } from "./idle-watch.ts";
import { frameKeys, frameSize, removeShellGroup, startRelay } from "./relay.ts";
import { createRing, type OutputRing } from "./ring.ts";
import { shellLabel } from "./shell-label.ts";

/** A reader of a shell's live output. While one is far behind, the shell waits. */
export interface Viewer {
  /** Offset of the first byte of output it has not read yet. */
  position(): number;
  resized(size: TerminalSize): void;
}

/** One shell on a terminal, running or ended. */
export interface Shell {
  readonly id: string;
  readonly output: Pick<OutputRing, "first" | "next" | "read" | "start">;
  describe(): ShellSession;
  size(): TerminalSize;
  /** How it ended; undefined while it runs. */
  exit(): ShellExit | undefined;
  /** Sends keys; keys for a shell that has ended are dropped. */
  write(keys: Uint8Array): void;
  /** Resolves when the terminal accepts more keys, or it has ended. */
  drained(): Promise<void>;
  /** Whether so many keys wait that no more should be added. */
  isBusy(): boolean;
  /** Takes over a viewer's size, unless the shell is busy. */
  resize(size: TerminalSize): void;
  /** Resolves when there is output from an offset on, when it has ended, or at the abort. */
  grown(offset: number, signal: AbortSignal): Promise<void>;
  /** A client read or asked: the shell is not idle. */
  touch(): void;
  /** Adds a viewer; the shell is not idle while it has one. @returns a function that removes it */
  watch(viewer: Viewer): () => void;
  /** To be called when a viewer has read more. */
  taken(): void;
  /** Ends it and everything it started. Resolves when all of it is gone. Safe to call twice. */
  close(by: ShellEndedBy): Promise<void>;
  /** Resolves when it has ended, for any reason. */
  readonly ended: Promise<void>;
}

/** Keys that may wait for a program that does not read them. */
const MAX_WAITING_BYTES = 1_048_576;

/** Starts a shell. @throws {KeeperError} */
export async function startShell(
  context: TerminalContext,
  options: { readonly id: string; readonly cwd: string; readonly size: TerminalSize },
): Promise<Shell> {
  const { limits, logger } = context;
  const { id, cwd } = options;
  const label = shellLabel(id);
  const relay = await startRelay(context, cwd, options.size);
  const output = createRing(limits.scrollbackBytes);
  const viewers = new Set<Viewer>();
  const waiting = new Set<() => void>();
  const typing = new Set<() => void>();
  const stopping = new AbortController();
  const createdAt = new Date().toISOString();
  let { size } = options;
  let [endedBy, exit, endedAt]: [ShellEndedBy | undefined, ShellExit | undefined, string | undefined] = [
    undefined,
    undefined,
    undefined,
  ];
  let fault: unknown;
  const idle = createIdleWatch(limits.idleMs, () => viewers.size > 0, leaveIdle);

  relay.stdout.on("data", (bytes: Buffer) => {
    output.append(bytes);
    idle.touch();
    balance();
    wakeAll();
  });
  const notifyTypists = (): void => {
    for (const wake of typing) wake();
    typing.clear();
  };
  relay.stdin.on("drain", notifyTypists);
  relay.stdin.on("close", notifyTypists);
  // A broken pipe counts as ended.
  const outputEnded = finished(relay.stdout).catch(() => {});
  const ended = runToEnd();
  balance();

  /**
   * Law: every wait is bounded. A program that prints faster than a viewer reads waits for it, as on any terminal; a
   * viewer's own limit is in `viewer.ts`.
   */
  function balance(): void {
    const limit = limits.scrollbackBytes / 2;
    const isAhead =
      !stopping.signal.aborted && [...viewers].some((viewer) => output.next() - viewer.position() > limit);
    if (isAhead) relay.stdout.pause();
    else relay.stdout.resume();
  }

  function wakeAll(): void {
    for (const wake of waiting) wake();
  }

  async function runToEnd(): Promise<void> {
    try {
      await waitForExit(relay.directory, relay.tree.started, stopping.signal);
      // Law: nothing outlives its turn. When the shell has ended, what it left is ended too.
      await stopTree(relay.tree, { signals: ["SIGTERM"], graceMs: limits.graceMs });
      balance();
      await outputEnded;
      await removeShellGroup(context, relay.tree.marker);
      const code = (await readExit(relay.directory))?.code ?? null;
      await rm(relay.directory, { recursive: true, force: true });
      // Last: a client that sees the shell ended finds nothing of it left.
      exit = { code, ended_by: endedBy ?? "exit" };
    } catch (error) {
      // Its directory is kept: the next start tries again.
      logger.error({ shell: label, err: error }, "shell could not be ended");
      fault = error;
      exit = { code: null, ended_by: endedBy ?? "exit" };
    } finally {
      endedAt = new Date().toISOString();
      idle.stop();
      relay.stdin.destroy();
      relay.stdout.destroy();
      wakeAll();
    }
    logger.info({ shell: label, ...exit }, "shell ended");
  }

  async function close(by: ShellEndedBy): Promise<void> {
    endedBy ??= by;
    stopping.abort();
    balance();
    if (by === "shutdown") await forceStop();
    await ended;
    if (fault !== undefined) throw new Error(`shell ${label} could not be ended`, { cause: fault });
  }

  /** Ends it within turnd's own limit, whatever grace time was set; half is for what comes after. */
  async function forceStop(): Promise<void> {
    const isOver = await Promise.race([ended.then(() => true), delay(limits.shutdownMs / 2, false, { ref: false })]);
    if (!isOver) await sweepTree(relay.tree);
  }

  function leaveIdle(): void {
    // Errors were logged where they occurred.
    close("idle").catch(() => {});
  }

  return {
    id,
    output,
    ended,
    close,
    size: () => size,
    exit: () => exit,
    touch: idle.touch,
    taken: balance,
    describe: () => ({
      session_id: id,
      status: exit === undefined ? "running" : "ended",
      cwd,
      ...size,
      viewers: viewers.size,
      first_offset: output.first(),
      next_offset: output.next(),
      created_at: createdAt,
      last_active_at: idle.lastActiveAt().toISOString(),
      ...defined({ ended_at: endedAt, exit }),
    }),
    write(keys) {
      idle.touch();
      if (isInputClosed()) return;
      for (const frame of frameKeys(keys)) relay.stdin.write(frame);
    },
    drained: () =>
      new Promise((resolve) => {
        if (isInputClosed() || !relay.stdin.writableNeedDrain) resolve();
        else typing.add(resolve);
      }),
    isBusy,
    resize(wanted) {
      idle.touch();
      if (isInputClosed() || isBusy()) return;
      size = { cols: wanted.cols, rows: wanted.rows };
      relay.stdin.write(frameSize(size));
      for (const viewer of viewers) viewer.resized(size);
    },
    grown: (offset, signal) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (output.next() <= offset && exit === undefined && !signal.aborted) return;
          waiting.delete(look);
          signal.removeEventListener("abort", look);
          resolve();
        };
        waiting.add(look);
        signal.addEventListener("abort", look);
        look();
      }),
    watch(viewer) {
      viewers.add(viewer);
      balance();
      return () => {
        viewers.delete(viewer);
        idle.touch();
        balance();
      };
    },
  };

  function isInputClosed(): boolean {
    return stopping.signal.aborted || exit !== undefined || relay.stdin.destroyed;
  }

  function isBusy(): boolean {
    return relay.stdin.writableLength > MAX_WAITING_BYTES;
  }
}
