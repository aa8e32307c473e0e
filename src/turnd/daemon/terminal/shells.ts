import { randomUUID } from "node:crypto";
import { ProblemError, type TerminalSize } from "../../protocol/index.ts";
import { GroupError } from "../process/cgroup/cgroup.ts";
import { ResourcesExhaustedError } from "../process/exhausted.ts";
import { KeeperDiskError } from "../process/keeper/keeper.ts";
import { isStorageError } from "../storage/storage-error.ts";
import type { TerminalContext } from "./terminal-parts.ts";
import { shellLabel } from "./shell-label.ts";
import { startShell, type Shell } from "./shell.ts";

export interface OpenShellOptions {
  /** Absent for a shell with an id of its own. */
  readonly id?: string;
  readonly size: TerminalSize;
  /** Absent: the workspace of the turn session with this id, or the sandbox's. */
  readonly cwd?: string;
  /** Whether a new shell replaces one that has ended. */
  readonly isRestart: boolean;
}

/** The shells of this sandbox. An id names one shell at a time; ended ones are kept until newer ones have ended. */
export interface Shells {
  /**
   * The shell of that id, started if there is none.
   *
   * @throws {ProblemError} too_many_shells, workspace_unusable, resources_exhausted, storage_full
   */
  open(options: OpenShellOptions): Promise<{ readonly shell: Shell; readonly isNew: boolean }>;
  find(id: string): Shell | undefined;
  list(): Shell[];
  /** Ends a shell and removes it. */
  remove(shell: Shell): Promise<void>;
  /** Starts no more shells and ends all. */
  shutDown(): Promise<void>;
}

export function createShells(context: TerminalContext): Shells {
  const { maxShells } = context.limits;
  const shells = new Map<string, Shell>();
  const starting = new Map<string, Promise<Shell>>();
  let isStopping = false;

  async function open(options: OpenShellOptions): Promise<{ shell: Shell; isNew: boolean }> {
    const id = options.id ?? randomUUID();
    const old = shells.get(id);
    if (old !== undefined && (old.exit() === undefined || !options.isRestart)) return { shell: old, isNew: false };
    const pending = starting.get(id);
    if (pending !== undefined) return { shell: await pending, isNew: false };
    refuseIfFull();
    const start = startOne(id, options).finally(() => starting.delete(id));
    starting.set(id, start);
    return { shell: await start, isNew: true };
  }

  function refuseIfFull(): void {
    if (isStopping) throw new ProblemError("shutting_down", "turnd is shutting down");
    const running = [...shells.values()].filter((shell) => shell.exit() === undefined);
    if (running.length + starting.size < maxShells) return;
    const message = `${maxShells} shells are running, the limit of TURND_MAX_SHELLS; close one`;
    throw new ProblemError("too_many_shells", message);
  }

  async function startOne(id: string, { cwd, size }: OpenShellOptions): Promise<Shell> {
    const place = await context.checkWorkspace(cwd ?? context.findWorkspace(id) ?? context.workspace);
    const shell = await startShell(context, { id, cwd: place, size }).catch(refuseStart);
    // Added last: the order is that of their starts.
    shells.delete(id);
    shells.set(id, shell);
    context.logger.info({ shell: shellLabel(id), cwd: place }, "shell started");
    void shell.ended.then(forgetOldest);
    if (isStopping) await shell.close("shutdown");
    return shell;
  }

  function forgetOldest(): void {
    const ended = [...shells.values()].filter((shell) => shell.exit() !== undefined);
    for (const shell of ended.slice(0, Math.max(0, ended.length - maxShells))) shells.delete(shell.id);
  }

  return {
    open,
    find: (id) => shells.get(id),
    list: () => [...shells.values()],
    async remove(shell) {
      await shell.close("request");
      if (shells.get(shell.id) === shell) shells.delete(shell.id);
    },
    async shutDown() {
      isStopping = true;
      await Promise.allSettled(starting.values());
      await Promise.allSettled([...shells.values()].map((shell) => shell.close("shutdown")));
    },
  };
}

/** What a client can resolve, for example by freeing the disk, becomes a problem; everything else is thrown on. */
function refuseStart(error: unknown): never {
  if (error instanceof ResourcesExhaustedError) {
    const message = `${error.message} End a turn or a shell that takes them, and try again.`;
    throw new ProblemError("resources_exhausted", message);
  }
  if (error instanceof GroupError) {
    throw new ProblemError("resources_exhausted", `The shell cannot have its limits: ${error.message}`);
  }
  if (error instanceof KeeperDiskError || isStorageError(error)) {
    throw new ProblemError("storage_full", `the state directory cannot be written: ${error.message}`);
  }
  throw error;
}
