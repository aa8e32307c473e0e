import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  adoptStarted,
  isKeeperAlive,
  readExit,
  startKept,
  type KeptCommand,
  type StartedProcess,
} from "../keeper/keeper.ts";
import { childrenOf, isRunning, readProcess, scanForChildren, type ProcessEntry } from "../keeper/process-table.ts";
import { isCliRunning, stopTree, type EndedProcess, type ProcessTree } from "../keeper/tree.ts";
import { waitForExit, type KeptExit } from "../keeper/wait-exit.ts";
import { openChannel, type Channel } from "./channel.ts";
import { throughRelay } from "./relay.ts";

/** A server of a CLI's under its keeper: asked through a named pipe, read from files that outlive turnd. */
export interface ServerProcess {
  /** Root's own: `started`, `exit.json`, `stdin`, `stdout.jsonl`, `stderr.log`. */
  readonly directory: string;
  readonly started: StartedProcess;
  readonly stdoutPath: string;
  readonly stderrPath: string;
  readonly channel: Channel;
  /** Resolves when it has ended; null where nobody knows how. */
  readonly exited: Promise<KeptExit | null>;
  isRunning(): boolean;
  /** The CLI's own process, where another stands before it. */
  cli(): Pick<StartedProcess, "pid" | "pidStart">;
  /** What it has started and that still runs. */
  leftovers(): readonly ProcessEntry[];
  /**
   * Ends it and all that it has started. Law: nothing outlives its turn.
   *
   * @returns what was ended
   * @throws {SweepError} if something does not end
   */
  end(graceMs: number): Promise<readonly EndedProcess[]>;
}

export interface ServerOptions {
  /** What distinguishes its processes from all others. */
  readonly mark: Omit<ProcessTree, "started">;
  /** The relay stands before it. */
  readonly isRelayed?: boolean;
  /** The longest that one request may take to be written. */
  readonly writeLimitMs: number;
}

/** Starts a server. Its directory must not exist. @throws as `startKept`, and {ChannelError} */
export async function startServer(kept: Omit<KeptCommand, "isServer">, options: ServerOptions): Promise<ServerProcess> {
  await mkdir(kept.directory, { mode: 0o700 });
  const command = options.isRelayed === true ? throughRelay(kept) : kept;
  const started = await startKept({ ...command, isServer: true });
  return openServer(kept.directory, started, options);
}

/** Finds a server that an earlier turnd has started; undefined where it has ended, or never began. */
export async function adoptServer(directory: string, options: ServerOptions): Promise<ServerProcess | undefined> {
  const started = await adoptStarted(directory);
  if (started === undefined || !isCliRunning(started)) return undefined;
  return openServer(directory, started, options).catch(() => undefined);
}

/** How a server ended whose process is gone; null where that is not known. */
export async function readServerExit(directory: string): Promise<KeptExit | null> {
  return (await readExit(directory)) ?? null;
}

async function openServer(
  directory: string,
  started: StartedProcess,
  { mark, writeLimitMs, isRelayed = false }: ServerOptions,
): Promise<ServerProcess> {
  const channel = await openChannel(join(directory, "stdin"), writeLimitMs);
  const released = new AbortController();
  const tree: ProcessTree = { started, ...mark };
  const exited = waitForExit(directory, started, released.signal);
  exited.catch(() => undefined);
  const findCli = (): Pick<StartedProcess, "pid" | "pidStart"> =>
    (isRelayed ? findChild(started) : undefined) ?? started;
  let ending: Promise<readonly EndedProcess[]> | undefined;
  async function endTree(graceMs: number): Promise<readonly EndedProcess[]> {
    try {
      return await stopTree(tree, { signals: ["SIGTERM"], graceMs });
    } finally {
      released.abort();
      await channel.close();
    }
  }
  return {
    directory,
    started,
    channel,
    exited,
    stdoutPath: join(directory, "stdout.jsonl"),
    stderrPath: join(directory, "stderr.log"),
    isRunning: () => isCliRunning(started),
    cli: findCli,
    leftovers: () => listLeftovers(started, findCli()),
    end(graceMs) {
      ending ??= endTree(graceMs);
      return ending;
    },
  };
}

/** Whatever is below the keeper but the server itself: what lost its parent is the keeper's child. */
function listLeftovers({ keeperPid, pid }: StartedProcess, cli: Pick<StartedProcess, "pid">): ProcessEntry[] {
  const servers = new Set([pid, cli.pid]);
  return [keeperPid, ...servers].flatMap(listChildren).filter((entry) => !servers.has(entry.pid));
}

function findChild({ pid }: StartedProcess): Pick<StartedProcess, "pid" | "pidStart"> | undefined {
  const [child] = listChildren(pid);
  return child && { pid: child.pid, pidStart: child.startTime };
}

function listChildren(parent: number): ProcessEntry[] {
  return [...(childrenOf(parent) ?? scanForChildren(parent))].flatMap((child) => {
    const entry = readProcess(child);
    return entry === undefined || !isRunning(entry) ? [] : [entry];
  });
}

/** How long what was killed may take to be gone. */
const GONE_MS = 250;
/** So many looks in a row must find nothing. */
const EMPTY_LOOKS = 3;
const LOOK_MS = 2;

/** Whether nothing is left below a server; waits a moment for what is just ending. */
export async function isAlone(server: ServerProcess): Promise<boolean> {
  const deadline = Date.now() + GONE_MS;
  for (let empty = 0; empty < EMPTY_LOOKS;) {
    empty = server.leftovers().length === 0 ? empty + 1 : 0;
    if (empty === 0 && Date.now() > deadline) return false;
    if (empty < EMPTY_LOOKS) await delay(LOOK_MS);
  }
  return true;
}

/** Ends what an earlier turnd has left of a server, and removes its files. */
export async function removeServer(directory: string, options: ServerOptions): Promise<void> {
  const server = await adoptServer(directory, options);
  if (server !== undefined) await server.end(0);
  else if (await isKeeperAlive(directory)) {
    const started = await adoptStarted(directory);
    if (started !== undefined) await stopTree({ started, ...options.mark }, { signals: [], graceMs: 0 });
  }
  await rm(directory, { recursive: true, force: true });
}
