import PQueue from "p-queue";
import type { Logger } from "pino";
import { ProblemError, type ReplayRequest, type SessionRequest, type TurnRequest } from "../../../protocol/index.ts";
import type { RunAs } from "../../process/run-as.ts";
import type { Helper } from "../../process/starter/starter.ts";
import type { SessionFile } from "../../sessions/session-file.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import { assertNoPrograms, assertSupported } from "./capabilities.ts";
import type { TurnLimits } from "../lifecycle/limits.ts";
import type { TurnTracer } from "../lifecycle/tracer.ts";
import { type Executors, listIds } from "../executors/executors.ts";
import { cliOf, findSession, unreadableSession } from "./find-session.ts";
import { isStorageError } from "../../storage/storage-error.ts";
import { draftReplay } from "./new-replay.ts";
import { draftTurn, type NewTurn, type TurnDraft } from "./new-turn.ts";
import { createOwnWorkspaces } from "./own-workspaces.ts";
import type { TurnQueue } from "./queue.ts";
import { findKnown, refuseIfUncertain } from "./known-request.ts";
import { createSessionResolver } from "./resolve-session.ts";
import { assertSessionSupported, type SessionSecrets } from "./session-servers.ts";
import { hashRequest } from "./request-hash.ts";
import type { SecretBook } from "../store/secret-book.ts";
import type { Tombstones } from "../store/tombstones.ts";
import { findShortage } from "../executors/state-disk.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { permissionsOf } from "./turn-permissions.ts";
import type { RequestScope } from "../store/state-check.ts";
import type { TurnStore } from "../store/turn-store.ts";
import { withExecutorId } from "../executors/executor-names.ts";
import { createKnownWorkspaces } from "../executors/known-workspaces.ts";
import { checkWorkspace } from "../executors/workspace.ts";
import type { ExecutorRuntime } from "../executors/executor-runtime.ts";

/** Lets requests in, each at most once. Law: at most once. */
export interface Admission {
  admit(request: TurnRequest, traceparent: string | undefined): Promise<AdmissionResult>;
  admitReplay(request: ReplayRequest, traceparent: string | undefined): Promise<AdmissionResult>;
  createSession(request: SessionRequest): Promise<SessionFile>;
  /** Resolves when what is being admitted at this moment has been. */
  settled(): Promise<void>;
  /** Refuses everything from now on; resolves when what was being admitted has been. */
  close(): Promise<void>;
}

/** A turn that was let in, now or before. */
export interface AdmissionResult {
  readonly turn: Turn;
  readonly isRepeat: boolean;
}

export interface AdmissionParts {
  readonly executors: Executors;
  readonly sessions: SessionStore;
  readonly secrets: SecretBook;
  /** What sessions may refer to. */
  readonly sessionSecrets: SessionSecrets;
  readonly stateDirectory: string;
  /** Where a turn works that names no other place. */
  readonly workspace: string;
  readonly workspaceRoots: readonly string[];
  /** Where a session works that names no directory: in one of its own below `workspace`, or in that itself. */
  readonly sessionWorkspace: "own" | "shared";
  readonly runAs: RunAs;
  readonly starter?: Helper;
  readonly limits: Pick<
    TurnLimits,
    "maxQueued" | "turnTimeoutMs" | "idleTimeoutMs" | "maxOutputBytes" | "minFreeBytes"
  >;
  readonly changes: { readonly isDefault: boolean };
  readonly tracer: Pick<TurnTracer, "begin" | "admitted">;
  readonly now: () => Date;
  readonly logger: Logger;
  readonly store: TurnStore;
  readonly queue: TurnQueue;
  readonly tombstones: Tombstones;
  /** Whether a session is being deleted: nothing is let into it any more. */
  readonly isBeingDeleted: (sessionId: string) => boolean;
  /** Resolves when it is known whether a request ran before, and what its session is; rejects where that could not be found out. */
  readonly whenKnown: (concerned: RequestScope) => Promise<void>;
  /** Puts an admitted turn in line by its policy. */
  readonly enqueue: (turn: Turn) => void;
}

/**
 * Makes the admission. One request at a time passes it, so two that race for an id, a session or the last place in the
 * queue are decided in the order in which they came.
 */
export function createAdmission(parts: AdmissionParts): Admission {
  const { sessions, secrets, store, limits, tracer, logger, enqueue } = parts;
  const gate = new PQueue({ concurrency: 1 });
  const underWay = new Map<string, Promise<unknown>>();
  let isClosed = false;
  const workspaces = createOwnWorkspaces(parts);
  const resolver = createSessionResolver(parts, workspaces);
  const workspaceOptions = { ...parts, roots: parts.workspaceRoots, known: createKnownWorkspaces() };

  /** Lets a new request in, inside the gate: `draft` decides on the session and makes the turn. */
  async function admitNow(
    { requestId, hash, receivedAt }: RequestIdentity,
    draft: () => Promise<TurnDraft>,
  ): Promise<AdmissionResult> {
    const known = findKnown(parts, requestId, hash);
    if (known !== undefined) return { turn: known, isRepeat: true };
    refuseIfUncertain(parts, requestId);
    await refuseIfNotStorable();
    const turn = await resolver.keepingNoneOnFailure(() => addTurn(draft));
    logger.info({ turnId: turn.file.turn_id, sessionId: turn.file.session_id }, "turn admitted");
    tracer.admitted(turn.file, receivedAt);
    enqueue(turn);
    return { turn, isRepeat: false };
  }

  async function addTurn(draft: () => Promise<TurnDraft>): Promise<Turn> {
    const { file, files } = await draft();
    // Before any of it can be logged.
    secrets.add(file, { hasEnded: false });
    return store.add(file, files).catch((error: unknown) => {
      secrets.end(file.turn_id);
      throw error;
    });
  }

  async function refuseIfNotStorable(): Promise<void> {
    const fault = sessions.fault();
    if (fault !== undefined) throw new ProblemError("storage_full", fault);
    const shortage = await findShortage(parts.stateDirectory, limits.minFreeBytes);
    if (shortage !== undefined) throw new ProblemError("storage_full", shortage);
  }

  function begin(session: SessionFile, hash: string, trace: NewTurn["trace"]): NewTurn {
    const createdAt = parts.now().toISOString();
    return { sessionId: session.session_id, hash, trace, createdAt, order: store.nextOrder() };
  }

  function enter<T>(concerned: RequestScope, work: () => Promise<T>): Promise<T> {
    return gate.add(async () => {
      if (isClosed) throw new ProblemError("shutting_down", "turnd is stopping; try again after its next start");
      try {
        // Law: at most once. What the start has not looked at yet may have run this request.
        await parts.whenKnown(concerned);
        return await work();
      } catch (error) {
        if (!isStorageError(error)) throw error;
        logger.error({ err: error }, "admission could not be written");
        throw new ProblemError("storage_full", `the state directory cannot be written: ${error.message}`);
      }
    });
  }

  async function admitTurn(request: TurnRequest, asked: RequestIdentity): Promise<AdmissionResult> {
    const session = findSession(sessions, request);
    const executor =
      session === undefined
        ? knownExecutor(parts.executors, request.executor ?? "", "executor")
        : sessionExecutor(parts.executors, cliOf(session), session.session_id);
    assertSupported(request, executor.executor.id, executor.executor.capabilities);
    if (request.workspace === undefined && session !== undefined) await workspaces.makeAgain(session);
    const workspace = await checkWorkspace(
      request.workspace ?? session?.workspace ?? parts.workspace,
      workspaceOptions,
    );
    return enter({ sessionId: request.session_id, requestId: asked.requestId }, () =>
      admitNow(asked, async () => {
        const found = await resolver.resolve(request, workspace);
        assertNoPrograms(request.mcp_servers ?? {}, permissionsOf(found, request));
        const made = begin(found, asked.hash, tracer.begin(asked.traceparent));
        return draftTurn(made, {
          request,
          executor: cliOf(found),
          // Without one in the request it is its session's, which another request may have made meanwhile.
          workspace: request.workspace === undefined && session === undefined ? found.workspace : workspace,
          limits,
          hasDiff: parts.changes.isDefault,
        });
      }),
    );
  }

  async function admitRecording(request: ReplayRequest, asked: RequestIdentity): Promise<AdmissionResult> {
    const { workspace } = parts;
    const { executor } = knownExecutor(parts.executors, request.recording.turn.executor, "recording.turn.executor");
    const draft = draftReplay({
      request,
      workspace,
      maxOutputBytes: limits.maxOutputBytes,
      readTime: executor.readTime,
    });
    return enter({ sessionId: request.session_id, requestId: asked.requestId }, () =>
      admitNow(asked, async () => {
        // Its recording may name a trace; a new one would hide that.
        const trace = asked.traceparent === undefined ? undefined : tracer.begin(asked.traceparent);
        return draft(begin(await resolver.resolveReplay(request), asked.hash, trace));
      }),
    );
  }

  function identify(request: TurnRequest | ReplayRequest, traceparent: string | undefined): RequestIdentity {
    return { requestId: request.request_id, hash: hashRequest(request), traceparent, receivedAt: parts.now() };
  }

  /** The first of several at once decides; the others see what became of it. */
  async function admitOnce(asked: RequestIdentity, admitNew: () => Promise<AdmissionResult>): Promise<AdmissionResult> {
    const { requestId: id, hash } = asked;
    if (id !== undefined) await underWay.get(id)?.catch(() => undefined);
    // A repeat is answered even where its workspace has gone since.
    const known = findKnown(parts, id, hash);
    if (known !== undefined) return { turn: known, isRepeat: true };
    const admitted = admitNew();
    if (id === undefined || underWay.has(id)) return admitted;
    underWay.set(id, admitted);
    return admitted.finally(() => underWay.delete(id));
  }

  return {
    admit(given, traceparent) {
      const request = withExecutorId(parts.executors, given);
      const asked = identify(request, traceparent);
      return admitOnce(asked, () => admitTurn(request, asked));
    },
    admitReplay(request, traceparent) {
      const asked = identify(request, traceparent);
      return admitOnce(asked, () => admitRecording(request, asked));
    },
    async createSession(given) {
      const request = withExecutorId(parts.executors, given);
      const { executor } = knownExecutor(parts.executors, request.executor, "executor");
      assertSessionSupported(request, executor.capabilities, parts.sessionSecrets);
      const workspace = await checkWorkspace(request.workspace ?? parts.workspace, workspaceOptions);
      return enter({ sessionId: request.session_id, requestId: undefined }, async () => {
        const { session_id: id = "" } = request;
        if (sessions.get(id) !== undefined) {
          throw new ProblemError("session_exists", `session ${id} exists already`);
        }
        if (sessions.isUnreadable(id)) throw unreadableSession("session_exists", id);
        await refuseIfNotStorable();
        return resolver.make(request, workspace);
      });
    },
    settled: () => gate.add(() => Promise.resolve()),
    async close() {
      isClosed = true;
      await gate.onIdle();
    },
  };
}

/** What decides whether a request is a repeat, and the trace it belongs to. */
interface RequestIdentity {
  readonly requestId: string | undefined;
  readonly hash: string;
  readonly traceparent: string | undefined;
  readonly receivedAt: Date;
}

/**
 * The executor that a request names.
 *
 * @param path - of the field that names it
 * @throws {ProblemError} invalid_request that lists the known ones
 */
function knownExecutor(executors: Executors, id: string, path: string): ExecutorRuntime {
  const runtime = executors.get(id);
  if (runtime !== undefined) return runtime;
  const known = [...executors.values()].map(({ executor }) =>
    executor.builtAs === executor.id ? executor.id : `${executor.id} (${executor.builtAs})`,
  );
  const message = `must be one of ${known.join(", ")}, got "${id}"`;
  throw new ProblemError("invalid_request", `${path}: ${message}`, { fields: [{ path, message }] });
}

/**
 * The executor of a session that exists; a turnd with more executors may have made it.
 *
 * @throws {ProblemError} executor_not_found that lists the known ones
 */
function sessionExecutor(executors: Executors, id: string, sessionId: string): ExecutorRuntime {
  const runtime = executors.get(id);
  if (runtime !== undefined) return runtime;
  const message = `session ${sessionId} belongs to ${id}, which this turnd does not have; it has ${listIds(executors)}`;
  throw new ProblemError("executor_not_found", message);
}
