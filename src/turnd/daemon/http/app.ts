import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { z } from "zod";
import { ProblemError } from "../../protocol/index.ts";
import type { TerminalService } from "../terminal/terminal-service.ts";
import type { FileService } from "../files/file-service.ts";
import type { RequestedIds, TurnService } from "../turns/turn-service.ts";
import { registerHostGuard, registerTokenGuard } from "./auth.ts";
import { createBareApp } from "./bare-app.ts";
import type { BodyLimits } from "./body-limits.ts";
import { limitConnections } from "./connections.ts";
import { registerCors } from "./cors.ts";
import { diffRoutes } from "./routes/diffs.ts";
import { eventRoutes } from "./routes/events.ts";
import { executorRoutes } from "./routes/executors.ts";
import { fileRoutes } from "./routes/files.ts";
import { metricsRoutes, type Metrics } from "./routes/metrics.ts";
import type { RedactText } from "./problem.ts";
import { createBrowserSessions, type BrowserSessions } from "./inspector/browser-sessions.ts";
import { inspectorSite } from "./inspector/inspector-site.ts";
import { createOpenStreams } from "./streaming/open-streams.ts";
import { registerDocs } from "./openapi/openapi.ts";
import { recordingRoutes } from "./routes/recordings.ts";
import { replayRoutes } from "./routes/replays.ts";
import { sandboxRoutes } from "./routes/sandbox.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { shellOutputRoutes } from "./routes/shell-output.ts";
import { shellRoutes } from "./routes/shell.ts";
import { ticketRoutes } from "./routes/tickets.ts";
import { approvalRoutes } from "./routes/approvals.ts";
import { turnRoutes } from "./routes/turns.ts";
import { createUrlTickets } from "./tickets.ts";

export interface AppOptions {
  readonly service: TurnService;
  /** Ids of the CLIs that turnd drives, for the description of the API. */
  readonly executors: readonly string[];
  /** Further names by which a request may name one, for the same. */
  readonly executorAliases?: readonly string[];
  readonly terminal: TerminalService;
  readonly files: FileService;
  /** Most bytes of a file that is written. */
  readonly maxFileBytes: number;
  /** Bearer token; without one, no request needs one. */
  readonly token?: string | undefined;
  /** The address turnd will listen on: decides which Host headers are accepted. */
  readonly host: string;
  /** Names accepted as Host besides those of loopback; `*` is any. */
  readonly hosts?: readonly string[];
  /** Origins of other sites whose pages may call, as `scheme://host:port`. */
  readonly corsOrigins?: readonly string[];
  readonly logger: FastifyBaseLogger;
  /** Takes secrets out of refusals, which quote requests. */
  readonly redact: RedactText;
  readonly bodies: BodyLimits;
  /** Most event streams at once on the port, and most on the Unix socket. */
  readonly maxStreams: number;
  /** Most files that the process may have open; connections take half of them at most. */
  readonly maxFiles?: number;
  /** Silence after which an SSE stream sends a heartbeat. */
  readonly heartbeatMs: number;
  /** How long a ticket for one path is valid. */
  readonly ticketMs?: number;
  readonly metrics: Metrics;
  /** Where the built page of the inspector is; absent: nowhere. */
  readonly inspectorDirectory?: string;
  /** The logins of browsers, where the terminal's page has them too. */
  readonly browserSessions?: BrowserSessions;
  readonly version: string;
  readonly uptimeMs: () => number;
  /** Once true, no turn is admitted and `/v1/ready` answers 503; everything else is still answered. */
  readonly isShuttingDown: () => boolean;
  /** Called for every request that is no probe. */
  readonly onWork?: () => void;
  /** Milliseconds from the start of the close in which clients may read the last events of turns that have ended. */
  readonly lastEventsMs?: number;
  /** Milliseconds after which every connection is cut; more than `lastEventsMs`. */
  readonly closeMs?: number;
}

/** Connections beyond those of the event streams. */
const MAX_OTHER_CONNECTIONS = 1_000;
/** Share of the files that turnd may open: a stream takes two, and there are two entrances. */
const PLACES_PER_FILE = 1 / 8;
/** On shutdown, for the last events of turns that have ended. */
const LAST_EVENTS_MS = 1_000;
const TICKET_MS = 30_000;

/**
 * Makes the HTTP app. The caller lets it listen and closes it.
 *
 * Closing ends event streams and waits at once; streams of ended turns first send their last events.
 */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { service, isShuttingDown } = options;
  const app = createBareApp(options);
  const streams = createOpenStreams(options.maxStreams, (connection) => app.connections.isFromSocket(connection));
  // Streams end before their connections are waited for.
  closeStreamsWith(app, streams, options);
  if (options.onWork !== undefined) registerWork(app, options.onWork);
  limitConnections(app, { max: placesWithin(options), hasToken: options.token !== undefined });
  const tickets = createUrlTickets(app, options.ticketMs ?? TICKET_MS);
  registerHostGuard(app, options);
  await registerCors(app, options.corsOrigins ?? []);
  const sessions = options.browserSessions ?? createBrowserSessions();
  registerTokenGuard(app, { token: options.token, tickets, isLoggedIn: sessions.isTrusted });
  const refuseWhenStopping = (): void => {
    if (!isShuttingDown() && !streams.closing.aborted) return;
    throw new ProblemError("shutting_down", "turnd is shutting down; try again later");
  };

  registerDocs(app, {
    createBareApp: () => createBareApp(options),
    version: options.version,
    executors: options.executors,
    aliases: options.executorAliases ?? [],
  });
  await app.register(async (scope) => {
    scope.addHook("preHandler", async ({ params }) => service.untilKnown(namedBy(params)));
    await scope.register(approvalRoutes, { service });
    await scope.register(turnRoutes, { service, closing: streams.closing, refuseWhenStopping });
    await scope.register(eventRoutes, { service, streams, heartbeatMs: options.heartbeatMs, metrics: options.metrics });
    await scope.register(diffRoutes, { service });
    await scope.register(replayRoutes, { service, closing: streams.closing, refuseWhenStopping });
    await scope.register(recordingRoutes, { service, streams });
    await scope.register(sessionRoutes, { service, files: options.files, refuseWhenStopping });
    await scope.register(fileRoutes, { service, files: options.files, maxFileBytes: options.maxFileBytes });
  });
  await app.register(executorRoutes, { service });
  await app.register(ticketRoutes, { tickets });
  await app.register(sandboxRoutes, { ...options });
  await app.register(shellRoutes, { terminal: options.terminal });
  await app.register(shellOutputRoutes, { terminal: options.terminal, streams, heartbeatMs: options.heartbeatMs });
  await app.register(metricsRoutes, { service, metrics: options.metrics, openStreams: streams.count });
  await app.register(inspectorSite, {
    ...(options.inspectorDirectory === undefined ? {} : { pageDirectory: options.inspectorDirectory }),
    service,
    sessions,
    token: options.token,
    version: options.version,
  });
  return app;
}

/** What is asked again and again whether or not anyone uses turnd. */
const PROBES = new Set(["/v1/health", "/v1/ready", "/v1/sandbox", "/metrics"]);

function registerWork(app: FastifyInstance, onWork: () => void): void {
  app.addHook("onRequest", (request, _reply, done) => {
    if (!PROBES.has(request.routeOptions.url ?? "")) onWork();
    done();
  });
}

const NamedInPath = z.object({
  turn_id: z.string().optional(),
  session_id: z.string().optional(),
  request_id: z.string().optional(),
});

/** The parts of a request's path that name something; each route has checked its own. */
function namedBy(params: unknown): RequestedIds {
  const parsed = NamedInPath.safeParse(params);
  return parsed.success ? parsed.data : {};
}

function placesWithin({ maxStreams, maxFiles = Infinity }: AppOptions): number {
  return Math.max(1, Math.min(maxStreams + MAX_OTHER_CONNECTIONS, Math.floor(maxFiles * PLACES_PER_FILE)));
}

function closeStreamsWith(
  app: FastifyInstance,
  streams: ReturnType<typeof createOpenStreams>,
  { service, lastEventsMs = LAST_EVENTS_MS }: AppOptions,
): void {
  app.addHook("preClose", async () => {
    await streams.closeAll((turnId) => hasEnded(service, turnId), lastEventsMs);
  });
}

function hasEnded(service: TurnService, turnId: string): boolean {
  try {
    const { status } = service.getTurn(turnId);
    return status !== "queued" && status !== "running";
  } catch {
    // A deleted turn has nothing more to send.
    return false;
  }
}
