import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import type { BrowserSessions } from "../http/inspector/browser-sessions.ts";
import { createTerminalSite } from "../http/terminal/terminal-site.ts";
import { toRunAs } from "../process/run-as.ts";
import { listenAt } from "./listen.ts";
import type { Settings } from "../settings.ts";
import { startTerminal, type RunningTerminal } from "../terminal/start-terminal.ts";
import type { TurnServiceParts } from "../turns/create-turn-service.ts";
import { VERSION } from "../version.ts";
import { checkWorkspace } from "../turns/executors/workspace.ts";

/** The terminal of a daemon. */
export interface WiredTerminal {
  readonly service: RunningTerminal;
  /** Where the page is served; undefined where it is not. */
  readonly site: FastifyInstance | undefined;
  /** Closes the connections of the viewers (1001) and that port, which waits for them. */
  readonly close: () => Promise<void>;
}

export interface TerminalWiring {
  readonly settings: Settings;
  /** `sandbox/`: the keeper, the relay, the page. */
  readonly sandboxDirectory: string;
  readonly parts: Pick<TurnServiceParts, "keeperPath" | "groups" | "sessions" | "workspaceRoots" | "secrets">;
  readonly logger: Logger;
  /** The inspector's: a login there is one here. */
  readonly browserSessions: BrowserSessions;
}

/**
 * Ends the shells of an earlier daemon, and lets the page's port listen where it is on.
 *
 * @throws {SettingsError} if the port cannot be had
 */
export async function wireTerminal({
  settings,
  sandboxDirectory,
  parts,
  logger,
  browserSessions,
}: TerminalWiring): Promise<WiredTerminal> {
  const { values, token } = settings;
  const runAs = toRunAs(settings.runAs, sandboxDirectory);
  const { TURND_TERMINAL_PORT: port, TURND_TERMINAL_HOST: host, TURND_TERMINAL_URL: baseUrl } = values;
  /** `url` is known once the port listens; undefined where there is none. */
  const listening: { url: string | undefined } = { url: undefined };
  const socket = values.TURND_TERMINAL_SOCKET;
  const service = await startTerminal({
    stateDirectory: values.TURND_STATE_DIR,
    keeperPath: parts.keeperPath,
    relayPath: join(sandboxDirectory, "pty-relay"),
    homeDirectory: values.TURND_HOME,
    workspace: values.TURND_WORKSPACE,
    runAs,
    baseEnv: settings.shellEnv,
    baseUrl(askedAt) {
      if (port === "off" || baseUrl !== undefined) return port === "off" ? undefined : baseUrl;
      return socket === undefined || askedAt === undefined ? listening.url : `http://${askedAt}`;
    },
    groups: parts.groups.groups,
    limits: {
      maxShells: values.TURND_MAX_SHELLS,
      maxViewers: values.TURND_SHELL_MAX_VIEWERS,
      scrollbackBytes: values.TURND_SHELL_SCROLLBACK_BYTES,
      idleMs: values.TURND_SHELL_IDLE_MS,
      stallMs: values.TURND_SHELL_STALL_MS,
      ticketMs: values.TURND_TERMINAL_TICKET_MS,
      graceMs: values.TURND_CANCEL_GRACE_MS,
      shutdownMs: values.TURND_SHUTDOWN_MS,
      heartbeatMs: values.TURND_SSE_HEARTBEAT_MS,
    },
    findWorkspace: (sessionId) => parts.sessions.get(sessionId)?.workspace,
    checkWorkspace: (path) => checkWorkspace(path, { roots: parts.workspaceRoots, runAs }),
    logger,
  });
  if (port === "off") return { service, site: undefined, close: service.disconnect };
  const site = await createTerminalSite({
    terminal: service,
    pageDirectory: join(sandboxDirectory, "terminal"),
    logger,
    redact: parts.secrets.redact,
    sessions: browserSessions,
    version: VERSION,
    host,
    hosts: values.TURND_HOSTS,
    token,
    origins: [...(baseUrl === undefined ? [] : [baseUrl]), ...values.TURND_TERMINAL_ORIGINS],
  });
  await listenAt(site, {
    host,
    port,
    reusePort: values.TURND_REUSE_PORT === "on",
    hostVariable: "TURND_TERMINAL_HOST",
    portVariable: "TURND_TERMINAL_PORT",
  });
  const bound = site.server.address();
  listening.url = toUrl(host, typeof bound === "object" && bound !== null ? bound.port : port);
  if (socket !== undefined) await site.connections.openSocket(socket);
  return {
    service,
    site,
    async close() {
      await service.disconnect();
      await site.close();
    },
  };
}

/** Where a program of this machine reaches a port; an address that stands for all is reached at the loopback one. */
function toUrl(host: string, port: number): string {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}
