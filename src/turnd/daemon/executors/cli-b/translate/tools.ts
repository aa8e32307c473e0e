import { warningEvent, type Native } from "../../../../protocol/index.ts";
import type { TranslatedEvent } from "../../contract/translator.ts";
import { readSandboxFault, SANDBOX_MISSING, SANDBOX_MISSING_REMEDY } from "../records/sandbox-fault.ts";
import { toToolCall, toToolEnd, type ToolCall, type ToolItem } from "./items.ts";

/** The tool calls of one process: which are open, and what happened to them. */
export interface ToolTracker {
  start(item: ToolItem, native: Native): TranslatedEvent[];
  end(item: ToolItem, native: Native): TranslatedEvent[];
  isIdle(): boolean;
  /** Closes what never ended. */
  interrupt(): TranslatedEvent[];
}

/** Creates a tracker for one process. */
export function createToolTracker(): ToolTracker {
  const open = new Map<string, ToolCall>();
  let hasWarnedOfSandbox = false;

  function start(item: ToolItem, native: Native): TranslatedEvent[] {
    if (open.has(item.id)) return [];
    const call = toToolCall(item);
    open.set(item.id, call);
    return [{ type: "tool.started", data: call, native }];
  }

  /** Where the sandbox cannot be created, each command fails and the turn goes on. Source: docs/contracts/cli-b.md §8. */
  function warnOfSandbox(item: ToolItem, native: Native): TranslatedEvent[] {
    if (hasWarnedOfSandbox || item.type !== "command_execution" || item.status !== "failed") return [];
    const reason = readSandboxFault(item.aggregated_output);
    if (reason === undefined) return [];
    hasWarnedOfSandbox = true;
    const remedy = SANDBOX_MISSING.test(reason) ? `; ${SANDBOX_MISSING_REMEDY}` : "";
    const message = `the CLI's own sandbox cannot work here, its commands fail: ${reason.slice(0, 300)}${remedy}`;
    return [{ ...warningEvent("sandbox_unavailable", message), native }];
  }

  return {
    start,
    end(item, native) {
      // A call can be printed only with its end; every end has a start in our stream.
      const started = start(item, native);
      open.delete(item.id);
      const data = { ...toToolCall(item), ...toToolEnd(item) };
      return [...started, { type: "tool.ended", data, native }, ...warnOfSandbox(item, native)];
    },
    isIdle: () => open.size === 0,
    interrupt() {
      const calls = [...open.values()];
      open.clear();
      return calls.map((call) => ({ type: "tool.ended", data: { ...call, status: "interrupted" } }));
    },
  };
}
