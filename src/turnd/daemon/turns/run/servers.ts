import { randomBytes } from "node:crypto";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import type { InteractiveExecutor } from "../../executors/contract/interactive.ts";
import type { Invocation } from "../../executors/contract/invocation.ts";
import type { KeptCommand } from "../../process/keeper/keeper.ts";
import {
  adoptServer,
  removeServer,
  startServer,
  type ServerOptions,
  type ServerProcess,
} from "../../process/server/server-process.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import { markOf, type GroupParts } from "./turn-group.ts";
import { openWarmServer, type WarmServer } from "./warm-server.ts";

/** The variable that marks every process of a server. */
const SERVER_MARKER = "TURND_SERVER";

/** The longest that an idle server is waited for: a new one is there sooner. Law: every wait is bounded. */
const PING_MS = 5_000;

export interface ServersParts extends Pick<GroupParts, "groups"> {
  readonly sessions: Pick<SessionStore, "paths">;
  readonly stateDirectory: string;
  readonly logger: Logger;
  readonly warm: {
    /** How many servers without a turn stay. */
    readonly maxIdle: number;
    /** How many large ones there are, with a turn or without. */
    readonly maxLarge: number;
    /** How long. */
    readonly idleMs: number;
    /** How long one may take to answer at its start, and to take a request. */
    readonly answerMs: number;
    /** How long one has to end by itself. */
    readonly graceMs: number;
  };
}

/** What a server is started with, but for its place. */
export interface ServerStart {
  readonly key: string;
  readonly interactive: InteractiveExecutor;
  readonly invocation: Invocation;
  readonly kept: Omit<KeptCommand, "directory" | "env"> & { readonly env: Readonly<Record<string, string>> };
}

/** The servers of sessions: one a session at most. */
export interface Servers {
  /** The server of a session that can do a turn of this key; one that cannot is ended. */
  take(sessionId: string, key: string): Promise<WarmServer | undefined>;
  /**
   * Makes room for a server that is to be started: of large ones that are too many one without a turn is ended.
   *
   * @returns false where all of them do turns
   */
  reserve(sessionId: string, interactive: InteractiveExecutor): Promise<boolean>;
  /** The server that room was made for is not started. */
  giveBack(sessionId: string): void;
  /** Starts one. @throws as `startServer`, {GreetingError} */
  start(sessionId: string, start: ServerStart): Promise<WarmServer>;
  /** Finds one that an earlier turnd has started; undefined where it has ended. `directory` is where its files are. */
  adopt(
    sessionId: string,
    number: number,
    options: {
      readonly interactive: InteractiveExecutor;
      readonly invocation: Invocation;
      readonly from: { readonly stdout: number; readonly stderr: number };
    },
  ): Promise<WarmServer | undefined>;
  directoryOf(sessionId: string, number: number): string;
  /** What distinguishes its processes. */
  optionsOf(sessionId: string, number: number): ServerOptions;
  /** A turn is over, and the server stays for the next one. */
  release(sessionId: string, server: WarmServer): void;
  /** A server does no turn any more: it is ended, and its files are removed. */
  discard(sessionId: string, server: WarmServer): Promise<void>;
  /** The session's server is ended: another process is to have its thread, or it is deleted. */
  endOf(sessionId: string): Promise<void>;
  endAll(): Promise<void>;
  /** Ends what an earlier turnd has left, but for those that unfinished turns name. */
  endLeft(isNamed: (sessionId: string, number: number) => boolean): Promise<void>;
  /** Pids of those that run, busy or not. */
  pids(): readonly { readonly sessionId: string; readonly pid: number; readonly isBusy: boolean }[];
}

interface Held {
  readonly server: WarmServer;
  isBusy: boolean;
  idleSince: number;
  timer: NodeJS.Timeout | undefined;
}

/** Makes the servers of a daemon. */
export function createServers(parts: ServersParts): Servers {
  const { sessions, logger, warm } = parts;
  const held = new Map<string, Held>();
  const ending = new Map<string, Promise<void>>();
  /** Sessions that have a large server, or are about to. */
  const large = new Set<string>();
  /** Of the last server of each session. */
  const numbers = new Map<string, number>();
  const register = join(parts.stateDirectory, "servers");
  /** Of requests to servers: no two turnds that one server sees have the same. */
  const epoch = randomBytes(5).toString("hex");

  const rootOf = (sessionId: string): string => join(sessions.paths(sessionId).root, "server");
  const directoryOf = (sessionId: string, number: number): string => join(rootOf(sessionId), `${number}`);
  const nameOf = (sessionId: string, number: number): string => `${sessionId}~${number}`;
  const optionsOf = (name: string, interactive?: InteractiveExecutor): ServerOptions => ({
    mark: { ...markOf(name, undefined), markerName: SERVER_MARKER },
    writeLimitMs: warm.answerMs,
    isRelayed: interactive?.isRelayed === true,
  });

  function hold(sessionId: string, server: WarmServer): WarmServer {
    if (server.interactive.isLarge === true) large.add(sessionId);
    held.set(sessionId, { server, isBusy: true, idleSince: 0, timer: undefined });
    return server;
  }

  async function discard(sessionId: string, server: WarmServer): Promise<void> {
    const known = held.get(sessionId);
    if (known?.server === server) {
      clearTimeout(known.timer);
      held.delete(sessionId);
    }
    const ended = endServer(sessionId, server.number, server);
    const all = Promise.all([ending.get(sessionId), ended]).then(() => undefined);
    ending.set(sessionId, all);
    await all.finally(() => {
      if (ending.get(sessionId) === all) ending.delete(sessionId);
    });
  }

  async function endServer(sessionId: string, number: number, server: WarmServer): Promise<void> {
    server.isFit = false;
    try {
      await server.process.end(warm.graceMs);
    } finally {
      server.close();
      large.delete(sessionId);
      await rm(server.process.directory, { recursive: true, force: true });
      await rm(join(register, nameOf(sessionId, number)), { force: true });
    }
  }

  /** What nobody waits for. */
  function discardLater(sessionId: string, server: WarmServer): void {
    discard(sessionId, server).catch((error: unknown) => {
      logger.error({ sessionId, err: error }, "server could not be ended");
    });
  }

  async function endOf(sessionId: string): Promise<void> {
    const known = held.get(sessionId);
    if (known !== undefined) await discard(sessionId, known.server);
    await ending.get(sessionId);
    for (const number of await listNumbers(sessionId)) await removeStray(sessionId, number);
  }

  /** What an earlier turnd has left. */
  async function removeStray(sessionId: string, number: number): Promise<void> {
    const name = nameOf(sessionId, number);
    await removeServer(directoryOf(sessionId, number), optionsOf(name));
    await rm(join(register, name), { force: true });
  }

  async function listNumbers(sessionId: string): Promise<number[]> {
    const names = await readdir(rootOf(sessionId)).catch(() => []);
    return names.map(Number).filter((number) => Number.isInteger(number));
  }

  function listIdle(isLarge: boolean): readonly (readonly [string, Held])[] {
    return [...held]
      .filter(([sessionId, { isBusy }]) => !isBusy && large.has(sessionId) === isLarge)
      .toSorted(([, a], [, b]) => a.idleSince - b.idleSince);
  }

  /** The one that has been idle for longest makes room. */
  function makeRoom(): void {
    const idle = listIdle(false);
    for (const [sessionId, { server }] of idle.slice(0, Math.max(0, idle.length - warm.maxIdle))) {
      discardLater(sessionId, server);
    }
  }

  return {
    directoryOf,
    optionsOf: (sessionId, number) => optionsOf(nameOf(sessionId, number)),
    async take(sessionId, key) {
      await ending.get(sessionId);
      const known = held.get(sessionId);
      if (known === undefined) return undefined;
      const { server } = known;
      server.look();
      clearTimeout(known.timer);
      known.isBusy = true;
      const isUsable = server.key === key && server.isFit && server.process.isRunning();
      // What it has started since its last turn was started by nobody's turn.
      const isAsLeft = isUsable && server.process.leftovers().length === 0;
      if (isAsLeft && (await server.answers(Math.min(warm.answerMs, PING_MS)))) return server;
      await discard(sessionId, server);
      return undefined;
    },
    async reserve(sessionId, { isLarge = false }) {
      if (!isLarge || large.has(sessionId)) return true;
      while (large.size >= warm.maxLarge) {
        const [oldest] = listIdle(true);
        if (oldest === undefined) return false;
        await discard(oldest[0], oldest[1].server);
      }
      large.add(sessionId);
      return true;
    },
    giveBack(sessionId) {
      if (!held.has(sessionId)) large.delete(sessionId);
    },
    async start(sessionId, { key, interactive, invocation, kept }) {
      await endOf(sessionId);
      await mkdir(rootOf(sessionId), { recursive: true, mode: 0o700 });
      const number = (numbers.get(sessionId) ?? 0) + 1;
      numbers.set(sessionId, number);
      const name = nameOf(sessionId, number);
      await mkdir(register, { recursive: true, mode: 0o700 });
      await writeFile(join(register, name), "");
      const directory = directoryOf(sessionId, number);
      const env = { ...kept.env, [SERVER_MARKER]: name };
      let process: ServerProcess;
      try {
        process = await startServer({ ...kept, env, directory }, optionsOf(name, interactive));
      } catch (error) {
        await removeServer(directory, optionsOf(name));
        await rm(join(register, name), { force: true });
        throw error;
      }
      const server = hold(sessionId, openWarmServer({ number, key, process, interactive, invocation, epoch }));
      try {
        await server.greet(warm.answerMs);
      } catch (error) {
        await discard(sessionId, server);
        throw error;
      }
      return server;
    },
    async adopt(sessionId, number, { interactive, invocation, from }) {
      const name = nameOf(sessionId, number);
      const process = await adoptServer(directoryOf(sessionId, number), optionsOf(name, interactive));
      if (process === undefined) return undefined;
      // No later turn knows what it was started with.
      return hold(sessionId, openWarmServer({ number, key: "", process, interactive, invocation, epoch, from }));
    },
    release(sessionId, server) {
      const known = held.get(sessionId);
      if (known?.server !== server) return;
      known.isBusy = false;
      known.idleSince = performance.now();
      known.timer = setTimeout(() => discardLater(sessionId, server), warm.idleMs);
      known.timer.unref();
      makeRoom();
    },
    discard,
    endOf,
    async endAll() {
      await Promise.all([...held.keys()].map(endOf));
      await Promise.all(ending.values());
    },
    async endLeft(isNamed) {
      const names = await readdir(register).catch(() => []);
      await Promise.all(
        names.map(async (name) => {
          const [sessionId = "", number = ""] = name.split("~");
          if (isNamed(sessionId, Number(number)) || held.get(sessionId)?.server.number === Number(number)) return;
          try {
            await removeStray(sessionId, Number(number));
          } catch (error) {
            logger.error({ sessionId, err: error }, "server of an earlier turnd could not be ended");
          }
        }),
      );
    },
    pids: () =>
      [...held].map(([sessionId, { server, isBusy }]) => ({ sessionId, pid: server.process.started.pid, isBusy })),
  };
}
