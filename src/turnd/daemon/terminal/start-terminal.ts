import { defined } from "../../../kit/defined.ts";
import { ProblemError } from "../../protocol/index.ts";
import { createAccess } from "./access.ts";
import type { TerminalContext } from "./terminal-parts.ts";
import { createDataPlane } from "./data-plane.ts";
import { followOutput, readOutput } from "./output.ts";
import { sweepRelays } from "./relay.ts";
import type { TerminalService } from "./terminal-service.ts";
import type { Shell } from "./shell.ts";
import { createShells } from "./shells.ts";

/** The service, and the functions with which its owner ends it. */
export interface RunningTerminal extends TerminalService {
  /** Opens nothing more and ends every shell. Resolves when none of their processes is alive. */
  shutDown(): Promise<void>;
  /** Closes every viewer's connection (1001) and accepts no more. */
  disconnect(): Promise<void>;
}

/** Links stay valid unused as long as shells may be idle, and no longer than this where shells may be idle for ever. */
const MAX_LINK_MS = 1_800_000;

/** Ends the shells of an earlier turnd, and offers new ones. */
export async function startTerminal(context: TerminalContext): Promise<RunningTerminal> {
  await sweepRelays(context);
  const { limits } = context;
  const shells = createShells(context);
  const isKnown = (id: string): boolean => shells.find(id) !== undefined || context.findWorkspace(id) !== undefined;
  const access = createAccess({
    ticketMs: limits.ticketMs,
    linkMs: limits.idleMs === 0 ? MAX_LINK_MS : Math.min(limits.idleMs, MAX_LINK_MS),
    isRunning: (id) => shells.find(id)?.exit() === undefined && shells.find(id) !== undefined,
    isKnown,
  });
  const dataPlane = createDataPlane({ shells, access, limits, logger: context.logger });

  function find(id: string): Shell {
    const shell = shells.find(id);
    if (shell === undefined) throw new ProblemError("shell_not_found", `there is no shell ${id}`);
    shell.touch();
    return shell;
  }
  function findRunning(id: string): Shell {
    const shell = find(id);
    if (shell.exit() !== undefined) throw new ProblemError("shell_ended", `the shell ${id} has ended`);
    return shell;
  }

  return {
    url(sessionId, host) {
      if (sessionId !== undefined && !isKnown(sessionId) && !access.isLink(sessionId)) {
        throw new ProblemError("session_not_found", `there is no session ${sessionId}`);
      }
      const baseUrl = context.baseUrl(host);
      if (baseUrl === undefined) return undefined;
      const url = new URL("/terminal", baseUrl);
      url.searchParams.set("session_id", sessionId ?? access.issueLink());
      return url.href;
    },
    async open({ session_id: id, cwd, cols, rows }) {
      if (id !== undefined && !isKnown(id) && !access.isLink(id)) {
        throw new ProblemError("session_not_found", `there is no session ${id}`);
      }
      const { shell, isNew } = await shells.open({
        ...defined({ id, cwd }),
        size: { cols, rows },
        isRestart: true,
      });
      if (id === undefined) access.addLink(shell.id);
      return { session: shell.describe(), isNew };
    },
    list: () => shells.list().map((shell) => shell.describe()),
    get: (id) => find(id).describe(),
    read: (id, offset, options) => readOutput(find(id), offset, options),
    grown: (id, offset, signal) => find(id).grown(offset, signal),
    follow: (id, offset, options) => followOutput(find(id), offset, options),
    input(id, text) {
      const shell = findRunning(id);
      if (shell.isBusy()) {
        const message = `the program in shell ${id} does not read what was typed before; try again later`;
        throw new ProblemError("shell_busy", message);
      }
      const before = shell.output.next();
      shell.write(Buffer.from(text, "utf8"));
      return before;
    },
    resize(id, size) {
      const shell = findRunning(id);
      shell.resize(size);
      return shell.describe();
    },
    close: (id) => shells.remove(find(id)),
    issueTicket(id, isTrusted) {
      if (id === undefined && !isTrusted) throw new ProblemError("unauthorized", "a new shell needs turnd's token");
      const opened = id ?? access.issueLink();
      return { ...access.issueTicket(opened, isTrusted), session_id: opened };
    },
    upgrade: dataPlane.upgrade,
    shutDown: shells.shutDown,
    disconnect: dataPlane.close,
  };
}
