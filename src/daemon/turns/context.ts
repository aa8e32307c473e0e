import type { Logger } from "pino";
import type { Executor } from "../executors/contract/executor.ts";
import type { GroupsState } from "../process/cgroup/cgroup.ts";
import type { RunAs } from "../process/run-as.ts";
import type { SessionStore } from "../sessions/session-store.ts";
import type { ExecutorRuntime } from "./readiness/executor-runtime.ts";
import type { TurnObserver } from "./observer.ts";
import type { Redact } from "../event-log/redact.ts";
import type { SecretBook } from "./store/secret-book.ts";

/** Bounds of a turn; times in milliseconds, 0 switches a time-out off. Source: docs/reference.md. */
export interface TurnLimits {
  readonly maxTurns: number;
  readonly maxQueued: number;
  readonly turnTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly startTimeoutMs: number;
  readonly cancelGraceMs: number;
  readonly shutdownMs: number;
  readonly steerWaitMs: number;
  readonly maxOutputBytes: number;
  readonly maxLineBytes: number;
  /** On the disk of the state directory, below which no turn is let in. */
  readonly minFreeBytes: number;
}

/** What every part of this room works with; made once, in `daemon.ts`. */
export interface TurnContext {
  /** Of turnd. */
  readonly version: string;
  readonly stateDirectory: string;
  /** `sandbox/keeper`. */
  readonly keeperPath: string;
  /** The text of `sandbox/write-home`. */
  readonly homeWriter: string;
  /** HOME of the CLIs. */
  readonly homeDirectory: string;
  readonly workspace: string;
  readonly workspaceRoots: readonly string[];
  readonly runAs: RunAs;
  readonly limits: TurnLimits;
  /** The allow-listed part of turnd's own environment. */
  readonly baseEnv: Readonly<Record<string, string>>;
  /** Control groups of turns; or why there are none. */
  readonly groups: GroupsState;
  /** Whether a keeper can adopt what escapes; found out at the start. */
  readonly hasSubreaper: boolean;
  /** What a person should know of this machine; said once in the log and in `/v1/sandbox`. */
  readonly warnings: readonly string[];
  readonly sessions: SessionStore;
  readonly executors: ReadonlyMap<Executor["id"], ExecutorRuntime>;
  /** Of a turn's context: takes out what its session's turns were given as well, see `contextOf`. */
  readonly redact: Redact;
  readonly secrets: SecretBook;
  readonly now: () => Date;
  readonly logger: Logger;
  readonly observer: TurnObserver;
}

/** The context of what is done for one session: its turns' own secrets are taken out of all that is logged and served. */
export function contextOf(context: TurnContext, sessionId: string): TurnContext {
  return { ...context, redact: context.secrets.redactorOf(sessionId) };
}

/**
 * The runtime side of an executor. Admission lets only known ones in; a session on the disk may be of one that this turnd
 * has no more.
 */
export function executorOf(context: TurnContext, id: Executor["id"]): ExecutorRuntime {
  const runtime = context.executors.get(id);
  if (runtime === undefined)
    throw new MissingExecutorError(`turnd has no executor ${id}; it has ${executorIds(context)}`);
  return runtime;
}

/** A turn or session on the disk is of an executor that this turnd does not have; one with more executors made it. */
export class MissingExecutorError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "MissingExecutorError";
  }
}

/** The ids of the executors, for messages. */
export function executorIds({ executors }: Pick<TurnContext, "executors">): string {
  return [...executors.keys()].join(", ");
}
