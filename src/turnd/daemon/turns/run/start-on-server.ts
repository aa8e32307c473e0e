import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { defined } from "../../../../kit/defined.ts";
import { warningEvent, type RequestedTransport, type Transport } from "../../../protocol/index.ts";
import type { Conversation } from "../../executors/contract/interactive.ts";
import type { Invocation } from "../../executors/contract/invocation.ts";
import type { TranslatedEvent } from "../../executors/contract/translator.ts";
import type { GroupsState } from "../../process/cgroup/cgroup.ts";
import { KeeperError } from "../../process/keeper/keeper.ts";
import type { KeptExit } from "../../process/keeper/wait-exit.ts";
import { ChannelError } from "../../process/server/channel.ts";
import { readServerExit, removeServer } from "../../process/server/server-process.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import { serversOf, type SessionSecrets } from "../admission/session-servers.ts";
import { permissionsOf } from "../admission/turn-permissions.ts";
import { executorOf, type Executors } from "../executors/executors.ts";
import type { LocatedCli } from "../executors/located.ts";
import { findTransportObstacle } from "../executors/transports.ts";
import type { TurnLimits } from "../lifecycle/limits.ts";
import type { TurnObserver } from "../lifecycle/observer.ts";
import type { Turn } from "../lifecycle/turn.ts";
import type { DescribeProcess } from "./describe-process.ts";
import { copyRest, findSpan } from "./found-span.ts";
import type { PreparedProcess, PrepareOptions } from "./prepare.ts";
import { createServerBody } from "./server-body.ts";
import type { Servers } from "./servers.ts";
import { readSpan, writeSpan, type SpanFile } from "./span-file.ts";
import type { TurnBody } from "./turn-body.ts";
import { GreetingError, type WarmServer } from "./warm-server.ts";

export interface ServerTurnsParts {
  readonly executors: Executors;
  readonly sessions: Pick<SessionStore, "get">;
  readonly sessionSecrets: SessionSecrets;
  readonly groups: GroupsState;
  readonly servers: Servers;
  readonly describe: DescribeProcess;
  readonly prepare: (turn: Turn, options: PrepareOptions) => Promise<PreparedProcess>;
  /** How turns are driven that do not say. */
  readonly defaultTransport: RequestedTransport;
  readonly limits: Pick<TurnLimits, "cancelGraceMs" | "shutdownMs" | "answerMs" | "approvalMs">;
  readonly observer: Pick<TurnObserver, "processesSwept">;
  /** Aborts when turnd stops and its time for that is half over. */
  readonly graceOver: AbortSignal;
  readonly logger: Logger;
}

/** How a turn is to be driven. */
export interface ChosenTransport {
  readonly transport: Transport;
  /** Why a turn that was to be interactive is not. */
  readonly reason?: string;
  /** Whether the turn, or its session, asked for it by name. */
  readonly isAsked: boolean;
}

/** A turn that is about to be done by a server. */
export interface OnServer {
  readonly prepared: PreparedProcess;
  /** Begins it, once what comes before is logged. */
  begin(): Promise<TurnBody>;
  /** It is not begun after all. */
  giveUp(): Promise<void>;
}

/** Turns that are done by servers. */
export interface ServerTurns {
  choose(turn: Turn, located: Extract<LocatedCli, { ok: true }>): ChosenTransport;
  /** Whether a person is to be asked before a turn does anything: then nothing but a server can do it. */
  isAsking(turn: Turn): boolean;
  /**
   * Makes a server ready for a turn: the session's own, or a new one.
   *
   * @returns why there is none, where nothing has been asked of it: another process may do the turn then
   */
  prepare(turn: Turn, options: PrepareOptions): Promise<OnServer | { readonly reason: string }>;
  /** Goes on with a turn that a server does, or did while no turnd was there; undefined for any other turn. */
  adopt(turn: Turn): Promise<TurnBody | undefined>;
  /** Another process is to have the session's thread, which has one writer at a time. */
  endOf(turn: Turn): Promise<void>;
}

/** Makes what has servers do turns. */
export function createServerTurns(parts: ServerTurnsParts): ServerTurns {
  const { executors, sessions, servers, describe, logger } = parts;
  const permissions = ({ file }: Turn) => permissionsOf(sessions.get(file.session_id), file);
  const isAsking = (turn: Turn): boolean => permissions(turn).approval === "ask";

  /** Its MCP servers are programs: they end with the server, since nothing distinguishes them from what a tool has left. */
  function hasPrograms({ file }: Turn): boolean {
    const session = sessions.get(file.session_id);
    if (session === undefined) return true;
    return Object.values(serversOf(session, file, parts.sessionSecrets)).some(({ type }) => type === "stdio");
  }

  async function converse(
    turn: Turn,
    { interactive, epoch }: Pick<WarmServer, "interactive" | "epoch">,
    { invocation, loadedThread }: { readonly invocation: Invocation; readonly loadedThread: string | undefined },
  ): Promise<Conversation> {
    const { turn_id: turnId, request_id: requestId, output_schema: outputSchema } = turn.file;
    return interactive.createConversation({
      epoch,
      nowMs: Date.now(),
      turnId,
      requestId,
      prompt: await readFile(join(turn.directory, "prompt.txt"), "utf8"),
      invocation,
      isAsking: isAsking(turn),
      loadedThread,
      ...defined({ outputSchema }),
    });
  }

  async function begin(turn: Turn, server: WarmServer, invocation: Invocation): Promise<TurnBody> {
    const conversation = await converse(turn, server, { invocation, loadedThread: server.threadId });
    server.look();
    const { stdout, stderr } = server.position();
    const span: SpanFile = { server: server.number, stdout: [stdout], stderr: [stderr] };
    const body = createServerBody(parts, turn, { server, conversation, isKept: !hasPrograms(turn), span });
    await writeSpan(turn.directory, span);
    body.begin();
    return body;
  }

  return {
    choose({ file }, located) {
      const { executor, configuration } = executorOf(executors, file.executor);
      const session = sessions.get(file.session_id);
      const named = file.requested_transport ?? session?.transport;
      const isAsked = named === "interactive" || permissionsOf(session, file).approval === "ask";
      if (named === "headless") return { transport: "headless", isAsked: false };
      if ((named ?? parts.defaultTransport) === "headless" && !isAsked) return { transport: "headless", isAsked };
      const facts = {
        executor,
        configuration,
        version: located.version,
        hasGroups: parts.groups.groups !== undefined,
      };
      const reason = file.mode === "review" ? "a review is a process of its own" : findTransportObstacle(facts);
      return reason === undefined ? { transport: "interactive", isAsked } : { transport: "headless", isAsked, reason };
    },
    isAsking,
    async prepare(turn, options) {
      const { session_id: sessionId } = turn.file;
      const { interactive } = executorOf(executors, turn.file.executor).executor;
      if (interactive === undefined) return { reason: "turnd does not drive a server of this CLI" };
      const described = describe(turn, options);
      let server = await servers.take(sessionId, described.key);
      try {
        if (server !== undefined && server.threadId !== (options.requestedSession ?? undefined)) {
          // Another thread than the one that it has open.
          await servers.discard(sessionId, server);
          server = undefined;
        }
        if (server === undefined && !(await servers.reserve(sessionId, interactive))) {
          return { reason: "as many servers as there may be (TURND_MAX_WARM_A) are at work" };
        }
        const prepared = await parts.prepare(turn, { ...options, isWarm: server !== undefined });
        const { key, invocation } = described;
        server ??= await servers.start(sessionId, { key, interactive, invocation, kept: prepared.kept });
        const ready = server;
        return {
          prepared,
          begin: () => begin(turn, ready, described.invocation),
          giveUp: () => servers.discard(sessionId, ready),
        };
      } catch (error) {
        if (server !== undefined) await servers.discard(sessionId, server);
        servers.giveBack(sessionId);
        const isOfServer = [GreetingError, ChannelError, KeeperError].some((kind) => error instanceof kind);
        if (!(error instanceof Error) || !isOfServer || options.signal.aborted) throw error;
        return { reason: `its server could not be started: ${error.message}` };
      }
    },
    async adopt(turn) {
      const { session_id: sessionId } = turn.file;
      const number = (await readSpan(turn.directory))?.server;
      const { interactive } = executorOf(executors, turn.file.executor).executor;
      if (interactive === undefined || number === undefined) return undefined;
      const directory = servers.directoryOf(sessionId, number);
      const found = await findSpan(turn.directory, directory, interactive.isAside);
      if (found === undefined) return undefined;
      const { invocation } = describe(turn, {
        binary: "",
        version: turn.file.cli_version ?? "",
        features: undefined,
        requestedSession: turn.file.requested_session ?? null,
        transport: "interactive",
      });
      const server = await servers.adopt(sessionId, number, { interactive, invocation, from: found.from });
      if (server === undefined) {
        copyRest(turn.directory, directory, found, interactive.isAside);
        const exit = await readServerExit(directory);
        return goneBody(exit, () => removeServer(directory, servers.optionsOf(sessionId, number)));
      }
      const conversation = await converse(turn, server, { invocation, loadedThread: undefined });
      for (const line of found.lines) conversation.observe(line);
      const body = createServerBody(parts, turn, { server, conversation, isKept: false, span: found.span });
      server.look();
      // One that does not answer is of no use: its end is the turn's.
      await server.greet(parts.limits.answerMs).catch(async (error: unknown) => {
        logger.warn({ turnId: turn.file.turn_id, err: error }, "server of a turn does not answer");
        await server.process.end(0);
      });
      body.begin();
      return body;
    },
    endOf: ({ file }) => servers.endOf(file.session_id),
  };
}

/** A server that has ended while no turnd was there. */
function goneBody(exit: KeptExit | null, remove: () => Promise<void>): TurnBody {
  return {
    transport: "interactive",
    isRunning: () => false,
    findTool: () => undefined,
    untilEnded: () => Promise.resolve(exit),
    stop: () => Promise.resolve(),
    sweep: async (stopping) => {
      await stopping;
      await remove();
    },
    lateExit: () => Promise.resolve(null),
  };
}

/** Says that a turn is not interactive that was to be. Law: never pretend. */
export function fallbackWarning(reason: string): TranslatedEvent {
  return warningEvent("transport_fallback", `The turn is headless: ${reason}.`);
}
