/** What the stream says that is read. */
const READ: readonly string[] = [
  "message.part.delta",
  "message.part.updated",
  "message.updated",
  "permission.asked",
  "permission.replied",
  "question.asked",
  "question.rejected",
  "question.replied",
  "session.created",
  "session.error",
  "session.idle",
  "session.status",
];

/** And what needs no event: others say it, or it is about no turn. */
const PASSED: readonly string[] = [
  "catalog.updated",
  "command.executed",
  "file.edited",
  "file.watcher.updated",
  "global.disposed",
  "installation.update-available",
  "installation.updated",
  "integration.connection.updated",
  "integration.updated",
  "lsp.updated",
  "mcp.browser.open.failed",
  "mcp.tools.changed",
  "message.part.removed",
  "message.removed",
  "models-dev.refreshed",
  "plugin.added",
  "project.directories.updated",
  "project.updated",
  "reference.updated",
  "server.instance.disposed",
  "session.compacted",
  "session.deleted",
  "session.diff",
  "session.updated",
  "todo.updated",
  "vcs.branch.updated",
];

const KNOWN: ReadonlySet<string> = new Set([...READ, ...PASSED]);

/** Whether a change is one of those that 1.18.33 sends about a session of turnd's. */
export function isKnownChange(type: string): boolean {
  return KNOWN.has(type);
}
