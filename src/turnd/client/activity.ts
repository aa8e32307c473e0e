import type { ReadEvent } from "./parse-event.ts";

/** A tool call that has started and not ended. */
export interface OpenTool {
  readonly name: string;
  readonly title: string | undefined;
  readonly startedAt: string;
}

/** What a turn does, as far as its events say. */
export interface Activity {
  /** When its last event came, and of which type; undefined before the first. */
  readonly last: { readonly at: string; readonly type: string } | undefined;
  /** Oldest first. CLI A reports a call when it has ended, so there is none of its. */
  readonly openTools: readonly OpenTool[];
  /** What the CLI tries again, where nothing has come since. */
  readonly retry: { readonly attempt: number; readonly max: number | undefined; readonly code: string } | undefined;
}

/** Follows what a turn does. */
export interface ActivityWatch {
  /** Notes the next event. */
  note(event: ReadEvent): void;
  now(): Activity;
}

/** A watch that has seen no event. */
export function watchActivity(): ActivityWatch {
  const openTools = new Map<string, OpenTool>();
  let last: Activity["last"];
  let retry: Activity["retry"];
  return {
    note(event) {
      if (event.type === "unreadable") return;
      last = { at: event.at, type: event.type };
      retry = undefined;
      if (event.type === "tool.started") {
        const { tool_call_id: id, name, title } = event.data;
        openTools.set(id, { name, title, startedAt: event.at });
      } else if (event.type === "tool.ended") openTools.delete(event.data.tool_call_id);
      else if (event.type === "turn.ended") openTools.clear();
      else if (event.type === "retry") {
        const { attempt, max, code } = event.data;
        retry = { attempt, max, code };
      }
    },
    now: () => ({ last, openTools: [...openTools.values()], retry }),
  };
}

/** What a running turn waits for. */
export interface Awaited {
  readonly what: "model" | "command" | "tool";
  /** For a person: `the model`, `sleep 60`. */
  readonly name: string;
  /** How long that has taken. */
  readonly forMs: number;
}

/**
 * What a running turn waits for: by its events, and by the command that turnd sees run, where the CLI reports none.
 *
 * @param command - `running_command` of the turn's snapshot
 */
export function findAwaited(
  { last, openTools, retry }: Activity,
  command: { readonly command: string; readonly running_ms: number } | undefined,
  nowMs: number,
): Awaited | undefined {
  const sinceMs = (at: string): number => Math.max(0, nowMs - Date.parse(at));
  const [tool] = openTools;
  if (tool !== undefined) {
    return { what: "tool", name: tool.title ?? tool.name, forMs: sinceMs(tool.startedAt) };
  }
  if (command !== undefined) return { what: "command", name: command.command, forMs: command.running_ms };
  if (last === undefined) return undefined;
  const again =
    retry && `, attempt ${retry.attempt}${retry.max === undefined ? "" : ` of ${retry.max}`} (${retry.code})`;
  return { what: "model", name: `the model${again ?? ""}`, forMs: sinceMs(last.at) };
}
