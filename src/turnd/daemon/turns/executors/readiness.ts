import { defined } from "../../../../kit/defined.ts";
import { ProblemError, type Readiness, type SandboxInfo } from "../../../protocol/index.ts";
import { MIB, type GroupsState } from "../../process/cgroup/cgroup.ts";
import type { RunAs } from "../../process/run-as.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import type { TurnLimits } from "../lifecycle/limits.ts";
import type { ExecutorLook } from "./look-at-executor.ts";
import { checkStateDisk } from "./state-disk.ts";
import { checkWorkspace } from "./workspace.ts";

export interface SandboxParts {
  /** Of turnd. */
  readonly version: string;
  /** HOME of the CLIs. */
  readonly homeDirectory: string;
  readonly workspace: string;
  readonly runAs: RunAs;
  /** Whether a keeper can adopt what escapes; found out at the start. */
  readonly hasSubreaper: boolean;
  readonly groups: GroupsState;
  /** What a person should know of this machine. */
  readonly warnings: readonly string[];
}

export interface ReadinessParts {
  readonly sessions: Pick<SessionStore, "fault">;
  readonly stateDirectory: string;
  readonly limits: Pick<TurnLimits, "minFreeBytes">;
  readonly workspace: string;
  readonly workspaceRoots: readonly string[];
  readonly runAs: RunAs;
  /** What is damaged among the files of the state, as one text; undefined where nothing is. */
  readonly damage: () => string | undefined;
}

/** The name of the check that fails where no process can be started. */
const PROCESSES = "processes";

/** What `GET /v1/sandbox` shows. */
export function describeSandbox(parts: SandboxParts): SandboxInfo {
  return {
    version: parts.version,
    home_dir: parts.homeDirectory,
    workspace: parts.workspace,
    run_as: { uid: parts.runAs.uid, gid: parts.runAs.gid },
    subreaper: parts.hasSubreaper,
    turn_limits: describeLimits(parts.groups),
    warnings: [...parts.warnings],
  };
}

function describeLimits({ groups, reason }: GroupsState): SandboxInfo["turn_limits"] {
  if (groups === undefined) return { enforced: false, reason };
  const { maxProcesses, memoryBytes } = groups.limits;
  return {
    enforced: true,
    ...(maxProcesses === 0 ? {} : { max_processes: maxProcesses }),
    ...(memoryBytes === 0 ? {} : { memory_mb: memoryBytes / MIB }),
  };
}

/**
 * How long a CLI is waited for: less than the 5 s that a probe of `kubernetes.yaml` waits. It is asked on, and known later. One CLI
 * that does not answer must not keep a probe waiting, nor hide that the other can run; no provider is waited for.
 */
const EXECUTOR_WAIT_MS = 4_000;

/**
 * Checks whether a turn could run now: state writable, workspace usable, at least one executor available.
 *
 * @param looks - one for each executor
 */
export async function checkReadiness(
  { sessions, stateDirectory, limits, damage, workspace, workspaceRoots: roots, runAs }: ReadinessParts,
  looks: readonly ExecutorLook[],
  signal: AbortSignal,
): Promise<Readiness> {
  const executors = await Promise.all(looks.map(({ look }) => look({ provider: "known", waitMs: EXECUTOR_WAIT_MS })));
  const checks = [
    await check("state", async () => {
      const fault = sessions.fault();
      if (fault !== undefined) throw new Error(fault);
      await checkStateDisk(stateDirectory, limits.minFreeBytes);
    }),
    // Reported, and no obstacle: the other sessions are served.
    await check("files", async () => {
      const found = damage();
      if (found !== undefined) throw new Error(found);
    }),
    await check("workspace", () => checkWorkspace(workspace, { roots, runAs, signal })),
    ...executors.map(({ id, available, unavailable }) => ({
      name: id,
      ok: available,
      ...defined({ message: unavailable?.message }),
    })),
  ];
  const required = checks.filter(({ name }) => ["state", "workspace", PROCESSES].includes(name));
  return { ready: required.every(({ ok }) => ok) && executors.some(({ available }) => available), checks };
}

async function check(name: string, ask: () => Promise<unknown>): Promise<Readiness["checks"][number]> {
  try {
    await ask();
    return { name, ok: true };
  } catch (error) {
    // That it could not be asked is no fault of its own.
    const isExhausted = error instanceof ProblemError && error.code === "resources_exhausted";
    return {
      name: isExhausted ? PROCESSES : name,
      ok: false,
      message: error instanceof Error ? error.message : String(error),
    };
  }
}
