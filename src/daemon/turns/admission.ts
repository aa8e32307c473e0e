import { createHash } from "node:crypto";
import PQueue from "p-queue";
import { v7 as uuidv7 } from "uuid";
import { ProblemError, type Capabilities, type SessionRequest, type TurnRequest } from "../../protocol/index.ts";
import type { SessionFile } from "../sessions/session-store.ts";
import { executorOf, type TurnContext } from "./context.ts";
import { isStorageError } from "./emitter.ts";
import type { TurnQueue } from "./queue.ts";
import type { Tombstones } from "./tombstones.ts";
import { toSnapshot, type Turn } from "./turn.ts";
import type { TurnFile } from "./turn-file.ts";
import type { TurnInputFiles, TurnStore } from "./turn-store.ts";
import { checkWorkspace } from "./workspace.ts";

/** Lets requests in, each at most once (law 10). */
export interface Admission {
  admit(request: TurnRequest, traceId: string | undefined): Promise<{ turn: Turn; isRepeat: boolean }>;
  createSession(request: SessionRequest): Promise<SessionFile>;
  /** Resolves when what is being admitted at this moment has been. */
  settled(): Promise<void>;
  /** Refuses everything from now on; resolves when what was being admitted has been. */
  close(): Promise<void>;
}

export interface AdmissionParts {
  readonly context: TurnContext;
  readonly store: TurnStore;
  readonly queue: TurnQueue;
  readonly tombstones: Tombstones;
  /** Whether a session is being deleted: nothing is let into it any more. */
  readonly isLeaving: (sessionId: string) => boolean;
  /** Puts an admitted turn in line by its policy. */
  readonly enqueue: (turn: Turn) => void;
}

const RETRY_AFTER_SECONDS = 5;

/**
 * Makes the admission. One request at a time passes it, so two that race for an id, a session or the last place in the
 * queue are decided in the order in which they came.
 */
export function createAdmission(parts: AdmissionParts): Admission {
  const { context, store, enqueue } = parts;
  const gate = new PQueue({ concurrency: 1 });
  const underWay = new Map<string, Promise<unknown>>();
  let isClosed = false;

  async function admitNow(request: TurnRequest, workspace: string, traceId: string | undefined) {
    const hash = hashRequest(request);
    const known = findKnown(parts, request, hash);
    if (known !== undefined) return { turn: known, isRepeat: true };
    const session = await resolveSession(request, workspace);
    refuseIfBusy(parts, request, session.session_id);
    const turn = await store.add(...toTurnFile(parts, { request, session, workspace, hash, traceId }));
    context.logger.info({ turnId: turn.file.turn_id, sessionId: session.session_id }, "turn admitted");
    enqueue(turn);
    return { turn, isRepeat: false };
  }

  async function resolveSession(request: TurnRequest, workspace: string): Promise<SessionFile> {
    const existing = request.session_id === undefined ? undefined : context.sessions.get(request.session_id);
    if (existing !== undefined && parts.isLeaving(existing.session_id)) throw sessionNotFound(request.session_id);
    if (existing !== undefined) return existing;
    if (request.executor === undefined) throw sessionNotFound(request.session_id);
    return makeSession({
      executor: request.executor,
      permissions: {},
      workspace,
      ...(request.session_id === undefined ? {} : { session_id: request.session_id }),
    });
  }

  async function makeSession(request: SessionRequest & { workspace: string }): Promise<SessionFile> {
    const session: SessionFile = {
      v: 1,
      session_id: request.session_id ?? uuidv7(),
      executor: request.executor,
      workspace: request.workspace,
      permissions: request.permissions,
      ...(request.metadata === undefined ? {} : { metadata: request.metadata }),
      created_at: context.now().toISOString(),
    };
    await context.sessions.create(session);
    return session;
  }

  function enter<T>(work: () => Promise<T>): Promise<T> {
    return gate.add(async () => {
      if (isClosed) throw new ProblemError("shutting_down", "turnd is stopping; try again after its next start");
      try {
        return await work();
      } catch (error) {
        if (!isStorageError(error)) throw error;
        context.logger.error({ err: error }, "admission could not be written");
        throw new ProblemError("storage_full", `the state directory cannot be written: ${error.message}`);
      }
    });
  }

  async function admitNew(request: TurnRequest, traceId: string | undefined) {
    const session = findSession(context, request);
    const executor = executorOf(context, session?.executor ?? request.executor ?? "cli-a").executor;
    refuseWhatItCannot(request, executor.id, executor.capabilities);
    const workspace = await checkWorkspace(request.workspace ?? session?.workspace ?? context.workspace, {
      roots: context.workspaceRoots,
      runAs: context.runAs,
    });
    return enter(() => admitNow(request, workspace, traceId));
  }

  return {
    async admit(request, traceId) {
      const id = request.request_id;
      // The first of several at once decides; the others see what became of it.
      if (id !== undefined) await underWay.get(id)?.catch(() => undefined);
      // A repeat is answered even where its workspace has gone since.
      const known = findKnown(parts, request, hashRequest(request));
      if (known !== undefined) return { turn: known, isRepeat: true };
      const admitted = admitNew(request, traceId);
      if (id === undefined || underWay.has(id)) return admitted;
      underWay.set(id, admitted);
      return admitted.finally(() => underWay.delete(id));
    },
    async createSession(request) {
      const workspace = await checkWorkspace(request.workspace ?? context.workspace, {
        roots: context.workspaceRoots,
        runAs: context.runAs,
      });
      return enter(async () => {
        if (request.session_id !== undefined && context.sessions.get(request.session_id) !== undefined) {
          throw new ProblemError("session_exists", `session ${request.session_id} exists already`);
        }
        return makeSession({ ...request, workspace });
      });
    },
    settled: () => gate.add(() => Promise.resolve()),
    async close() {
      isClosed = true;
      await gate.onIdle();
    },
  };
}

/** "Same" is after validation and defaults; the order of keys does not count. */
function hashRequest(request: TurnRequest): string {
  return createHash("sha256").update(canonical(request)).digest("hex");
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(",")}}`;
}

function findKnown({ store, tombstones }: AdmissionParts, request: TurnRequest, hash: string): Turn | undefined {
  if (request.request_id === undefined) return undefined;
  const stone = tombstones.find(request.request_id);
  if (stone !== undefined) {
    throw new ProblemError(
      "session_not_found",
      `request ${request.request_id} ran in session ${stone.session_id}, which was deleted; it is not run again`,
      { turn_id: stone.turn_id },
    );
  }
  const turn = store.findRequest(request.request_id);
  if (turn !== undefined && turn.file.request_hash !== hash) {
    throw new ProblemError(
      "request_id_conflict",
      `request_id ${request.request_id} was used for another body; use a new id for a new request`,
      { turn_id: turn.file.turn_id },
    );
  }
  return turn;
}

function findSession(context: TurnContext, request: TurnRequest): SessionFile | undefined {
  const session = request.session_id === undefined ? undefined : context.sessions.get(request.session_id);
  if (session === undefined && request.executor === undefined) throw sessionNotFound(request.session_id);
  if (session !== undefined && request.executor !== undefined && request.executor !== session.executor) {
    throw new ProblemError(
      "executor_mismatch",
      `session ${session.session_id} belongs to ${session.executor}; leave executor out or begin a new session`,
    );
  }
  return session;
}

function sessionNotFound(sessionId: string | undefined): ProblemError {
  return new ProblemError(
    "session_not_found",
    `there is no session ${sessionId}; name an executor to begin one with that id`,
  );
}

function refuseWhatItCannot(request: TurnRequest, id: string, can: Capabilities): void {
  if (!can.modes.includes(request.mode)) {
    throw new ProblemError("mode_unsupported", `${id} cannot ${request.mode}; it can ${can.modes.join(", ")}`);
  }
  const asked = {
    input: !can.images && Array.isArray(request.input) && request.input.some((part) => part.type === "image"),
    output_schema: !can.output_schema && request.output_schema !== undefined,
    agent: !can.agents && request.agent !== undefined,
    effort: !can.effort && request.effort !== undefined,
  };
  const fields = Object.entries(asked)
    .filter(([, isRefused]) => isRefused)
    .map(([path]) => ({ path, message: path === "input" ? `${id} takes no images` : `${id} has no ${path}` }));
  if (fields.length > 0) {
    const names = fields.map((field) => field.message).join("; ");
    throw new ProblemError("invalid_request", `${names}: leave it out or use another executor`, { fields });
  }
}

function refuseIfBusy({ queue, store, context }: AdmissionParts, request: TurnRequest, sessionId: string): void {
  if (request.queue_policy === "reject" && queue.isBusy(sessionId)) {
    const running = queue.running(sessionId) ?? store.ofSession(sessionId).at(-1);
    const extras = running === undefined ? {} : { turn_id: running.file.turn_id, turn: toSnapshot(running, 0) };
    throw new ProblemError("session_busy", `session ${sessionId} is busy; wait for its turn or enqueue`, extras);
  }
  if (queue.waitingCount() >= context.limits.maxQueued) {
    throw new ProblemError(
      "queue_full",
      `${context.limits.maxQueued} turns are waiting, as many as TURND_MAX_QUEUED allows`,
      {},
      RETRY_AFTER_SECONDS,
    );
  }
}

interface Admitted {
  readonly request: TurnRequest;
  readonly session: SessionFile;
  readonly workspace: string;
  readonly hash: string;
  readonly traceId: string | undefined;
}

function toTurnFile({ context, store }: AdmissionParts, admitted: Admitted): [TurnFile, TurnInputFiles] {
  const { request, session, workspace, hash, traceId } = admitted;
  const turnId = uuidv7();
  const parts = typeof request.input === "string" ? [{ type: "text" as const, text: request.input }] : request.input;
  const images = parts
    .filter((part) => part.type === "image")
    .map(({ data_url }, index) => ({
      name: `image-${index + 1}.${/^data:image\/(\w+);/.exec(data_url)?.[1] ?? "png"}`,
      content: Buffer.from(data_url.slice(data_url.indexOf(",") + 1), "base64"),
    }));
  const prompt = parts
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join("\n\n");
  const file: TurnFile = {
    v: 1,
    turn_id: turnId,
    request_id: request.request_id ?? turnId,
    request_hash: hash,
    session_id: session.session_id,
    executor: session.executor,
    mode: request.mode,
    ...(request.model === undefined ? {} : { model: request.model }),
    ...(request.agent === undefined ? {} : { agent: request.agent }),
    ...(request.effort === undefined ? {} : { effort: request.effort }),
    queue_policy: request.queue_policy,
    resume_policy: request.resume_policy,
    timeout_ms: request.timeout_ms ?? context.limits.turnTimeoutMs,
    idle_timeout_ms: request.idle_timeout_ms ?? context.limits.idleTimeoutMs,
    ...(request.output_schema === undefined ? {} : { output_schema: request.output_schema }),
    images: images.map((image) => image.name),
    workspace,
    ...(request.metadata === undefined ? {} : { metadata: request.metadata }),
    ...(traceId === undefined ? {} : { trace_id: traceId }),
    created_at: context.now().toISOString(),
    order: store.nextOrder(),
  };
  return [file, { prompt, images }];
}
