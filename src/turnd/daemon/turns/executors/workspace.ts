import { realpath } from "node:fs/promises";
import { sep } from "node:path";
import PQueue from "p-queue";
import { defined } from "../../../../kit/defined.ts";
import { ProblemError } from "../../../protocol/index.ts";
import { ResourcesExhaustedError } from "../../process/exhausted.ts";
import type { RunAs } from "../../process/run-as.ts";
import { runTask } from "../../process/run-tool.ts";
import type { Helper } from "../../process/starter/starter.ts";
import { exhaustedFailure } from "../outcome/own-failure.ts";
import { toMessage } from "../outcome/failure.ts";
import type { KnownWorkspaces } from "./known-workspaces.ts";

export interface WorkspaceOptions {
  /** Absolute paths; a workspace is under one of them, links resolved. */
  readonly roots: readonly string[];
  readonly runAs: RunAs;
  /** Asks the system as that user; absent: a new process does. */
  readonly starter?: Helper;
  readonly signal?: AbortSignal;
  /** What need not be asked again; absent: it is asked in any case. */
  readonly known?: KnownWorkspaces;
}

/** Checks of all requests together: each is a process of its own. */
const MAX_CHECKS = 4;
const checks = new PQueue({ concurrency: MAX_CHECKS });
const CHECK_TIMEOUT_MS = 10_000;

/**
 * Checks that a directory can be a turn's workspace.
 *
 * @returns its path with links resolved
 * @throws {ProblemError} workspace_unusable, with what to change; resources_exhausted, where no process is left to ask with
 */
export async function checkWorkspace(
  path: string,
  { roots, runAs, starter, signal, known }: WorkspaceOptions,
): Promise<string> {
  const [resolved, ...realRoots] = await Promise.all([
    realpath(path).catch(() => undefined),
    ...roots.map((root) => realpath(root).catch(() => root)),
  ]);
  if (resolved === undefined) throw new ProblemError("workspace_unusable", `workspace ${path} does not exist`);
  if (!realRoots.some((root) => resolved === root || resolved.startsWith(root.endsWith(sep) ? root : root + sep))) {
    throw new ProblemError(
      "workspace_unusable",
      `workspace ${path} lies outside ${roots.join(":")}; TURND_WORKSPACE_ROOTS names where workspaces may be`,
    );
  }
  // What changes while the system is asked does not look the same afterwards.
  const look = await known?.look(resolved).catch(() => undefined);
  if (look !== undefined && known?.isUsable(resolved, look) === true) return resolved;
  // Asked of the system as that user: modes, groups, ACLs and read-only mounts all count.
  const limits = { timeoutMs: CHECK_TIMEOUT_MS, ...defined({ signal }) };
  const usable = await checks
    .add(
      async () =>
        (await starter?.ask(["usable", `${runAs.uid}`, `${runAs.gid}`, resolved], limits)) ??
        runTask(["usable", resolved], { runAs, ...limits }),
    )
    .catch((error: unknown) => {
      if (!(error instanceof ResourcesExhaustedError)) throw error;
      throw new ProblemError("resources_exhausted", toMessage(exhaustedFailure(error)));
    });
  if (usable.code !== 0) {
    throw new ProblemError(
      "workspace_unusable",
      `workspace ${path} is not a directory that uid ${runAs.uid} can read, write and enter; change its owner or mode`,
    );
  }
  if (look !== undefined) known?.noteUsable(resolved, look);
  return resolved;
}
