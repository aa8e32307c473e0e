import { ProblemError, type ShellSession } from "../../../../src/turnd/protocol/index.ts";
import type { TerminalService } from "../../../../src/turnd/daemon/terminal/terminal-service.ts";
import { AT } from "./fake-service.ts";

/** A TerminalService whose shells are texts: what is typed is printed, and `exit` ends. For the tests of the HTTP room. */
export function createFakeTerminal(): TerminalService {
  const shells = new Map<string, { output: string; hasEnded: boolean; cols: number; rows: number }>();

  function find(id: string) {
    const shell = shells.get(id);
    if (shell === undefined) throw new ProblemError("shell_not_found", `there is no shell ${id}`);
    return shell;
  }
  function describe(id: string): ShellSession {
    const { output, hasEnded, cols, rows } = find(id);
    return {
      session_id: id,
      status: hasEnded ? "ended" : "running",
      cwd: "/workspace",
      cols,
      rows,
      viewers: 0,
      first_offset: 0,
      next_offset: output.length,
      created_at: AT,
      last_active_at: AT,
      ...(hasEnded ? { ended_at: AT, exit: { code: 0, ended_by: "exit" as const } } : {}),
    };
  }

  return {
    url: (id) => `http://127.0.0.1:8080/terminal?session_id=${id ?? "00000000-0000-4000-8000-000000000000"}`,
    async open({ session_id: id = "shell-of-the-fake", cols, rows }) {
      const isNew = !shells.has(id);
      if (isNew) shells.set(id, { output: "", hasEnded: false, cols, rows });
      return { session: describe(id), isNew };
    },
    list: () => [...shells.keys()].map(describe),
    get: describe,
    read(id, offset) {
      const { output, hasEnded } = find(id);
      const bytes = Buffer.from(output.slice(offset));
      return {
        offset,
        bytes,
        seen: offset + bytes.length,
        isTruncated: false,
        ...(hasEnded ? { exit: { code: 0, ended_by: "exit" as const } } : {}),
      };
    },
    grown: async (id) => void find(id),
    async *follow(id, offset, options) {
      yield this.read(id, offset, options);
    },
    input(id, text) {
      const shell = find(id);
      const before = shell.output.length;
      shell.output += text;
      shell.hasEnded ||= text === "exit";
      return before;
    },
    resize(id, size) {
      Object.assign(find(id), size);
      return describe(id);
    },
    close: async (id) => void (find(id) && shells.delete(id)),
    issueTicket: (id = "shell-of-the-fake") => ({ ticket: "ticket", expires_in_ms: 1, session_id: id }),
    upgrade: (_request, socket) => socket.destroy(),
  };
}
