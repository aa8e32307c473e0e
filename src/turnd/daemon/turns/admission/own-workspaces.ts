import { randomBytes } from "node:crypto";
import { lstat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Logger } from "pino";
import { ProblemError } from "../../../protocol/index.ts";
import { ResourcesExhaustedError } from "../../process/exhausted.ts";
import type { RunAs } from "../../process/run-as.ts";
import type { Helper } from "../../process/starter/starter.ts";
import { makeOwnDirectory, OwnDirectoryError, removeOwnDirectory } from "../../process/user-files/own-directory.ts";
import { ownerIdOf, ownWorkspaceName } from "../../sessions/own-workspace.ts";
import type { SessionFile } from "../../sessions/session-file.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import { exhaustedFailure } from "../outcome/own-failure.ts";
import { toMessage } from "../outcome/failure.ts";

export interface OwnWorkspaceParts {
  readonly sessions: Pick<SessionStore, "get" | "update">;
  readonly sessionWorkspace: "own" | "shared";
  readonly runAs: RunAs;
  readonly starter?: Helper;
  readonly logger: Logger;
}

/** The directories that turnd makes for sessions to work in. They are made and removed by the CLIs' user, whose root they are in. */
export interface OwnWorkspaces {
  /**
   * Makes one for a new session.
   *
   * @param root - checked, without links
   * @param isCallersId - whether the id is the caller's own, who may use it again
   * @returns its path; undefined where all sessions share the root
   * @throws {ProblemError} workspace_unusable, storage_full, resources_exhausted
   */
  make(root: string, sessionId: string, isCallersId: boolean): Promise<string | undefined>;
  /** Makes it again where a tool has removed it. @throws as `make` */
  makeAgain(session: SessionFile): Promise<void>;
  /** Takes back what was made for a session that is none. Never throws: an empty directory may be left, which is logged. */
  withdraw(session: SessionFile): Promise<void>;
  /** What a request names is a person's: where it is, or lies in, another session's own workspace, that one is removed no more. */
  noteNamed(path: string, sessionId: string): Promise<void>;
}

const WITHDRAW_LIMIT_MS = 5_000;
const SUFFIX_BYTES = 4;
const MAX_TRIES = 4;
const IS_FULL = ["ENOSPC", "EDQUOT"];

export function createOwnWorkspaces(parts: OwnWorkspaceParts): OwnWorkspaces {
  const { sessions, sessionWorkspace, runAs, logger } = parts;

  async function makeOne(path: string): Promise<boolean> {
    try {
      return await makeOwnDirectory(path, parts);
    } catch (error) {
      throw asProblem(error);
    }
  }

  return {
    async make(root, sessionId, isCallersId) {
      if (sessionWorkspace === "shared") return undefined;
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const suffix = isCallersId || tries > 0 ? randomBytes(SUFFIX_BYTES).toString("hex") : undefined;
        const path = join(root, ownWorkspaceName(sessionId, suffix));
        if (await makeOne(path)) return path;
      }
      throw new ProblemError("workspace_unusable", `a workspace of session ${sessionId} cannot be made in ${root}`);
    },
    async makeAgain({ own_workspace: isOwn, workspace }) {
      if (isOwn === true && (await isMissing(workspace))) await makeOne(workspace);
    },
    async withdraw({ own_workspace: isOwn, workspace }) {
      if (isOwn !== true) return;
      await removeOwnDirectory(workspace, { runAs, limitMs: WITHDRAW_LIMIT_MS, isEmpty: true }).catch(
        (error: unknown) => logger.warn({ path: workspace, err: error }, "workspace of a refused session is left"),
      );
    },
    async noteNamed(path, sessionId) {
      for (let directory = path; dirname(directory) !== directory; directory = dirname(directory)) {
        const owner = sessions.get(ownerIdOf(directory));
        if (owner?.own_workspace !== true || owner.workspace !== directory || owner.session_id === sessionId) continue;
        await sessions.update(owner.session_id, { own_workspace: undefined });
      }
    },
  };
}

async function isMissing(path: string): Promise<boolean> {
  return lstat(path).then(
    () => false,
    (error: unknown) => error instanceof Error && "code" in error && error.code === "ENOENT",
  );
}

function asProblem(error: unknown): unknown {
  if (error instanceof ResourcesExhaustedError) {
    return new ProblemError("resources_exhausted", toMessage(exhaustedFailure(error)));
  }
  if (!(error instanceof OwnDirectoryError)) return error;
  return new ProblemError(IS_FULL.includes(error.reason) ? "storage_full" : "workspace_unusable", error.message);
}
