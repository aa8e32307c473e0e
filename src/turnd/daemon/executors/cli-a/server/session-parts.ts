import type { Native } from "../../../../protocol/index.ts";
import type { TranslatedEvent } from "../../contract/translator.ts";
import type { Fact } from "../../contract/failures.ts";
import { createRecentIds } from "../../classification/recent-ids.ts";
import { REJECTED_TOOL } from "../failures/facts.ts";
import { isAutoRejected, readDenial, toPlan, toToolCall, toToolEnd } from "../translate/tools.ts";
import { PartDelta, type Part, type ToolPart } from "./records.ts";
import { createTexts } from "./texts.ts";
import type { ToolOutput } from "./tool-output.ts";

interface OpenTool {
  readonly callId: string;
  readonly call: ReturnType<typeof toToolCall>;
}

/** What the model of one session writes and calls: the turn's own, or a subagent's. */
export interface SessionParts {
  /** A text or a tool call, as the server has it now. */
  take(part: Part, native: Native): TranslatedEvent[];
  delta(data: unknown, atMs: number | undefined, native: Native): TranslatedEvent[];
  /** What is being written is asked for again. */
  retry(native: Native): TranslatedEvent[];
  /** The stream had broken off. */
  interrupt(): void;
  /** Closes what is open when the turn ends. */
  close(): TranslatedEvent[];
  /** What the call of a tool is called in events, by the CLI's own id. */
  nameOf(callId: string): string;
  isBusy(): boolean;
  /** A tool that was refused what it needs: the run may end with it. */
  rejected(): Fact | undefined;
}

const MAX_CALLS = 1_000;

export interface SessionPartsOptions {
  readonly outputs: ToolOutput;
  readonly holdBack: (text: string) => number;
}

/** Follows the parts of one session's messages. */
export function createSessionParts({ outputs, holdBack }: SessionPartsOptions): SessionParts {
  const texts = createTexts(holdBack);
  const tools = new Map<string, OpenTool>();
  const ended = createRecentIds(MAX_CALLS);
  const callIds = createRecentIds(MAX_CALLS);
  const names = new Map<string, string>();
  let rejected: Fact | undefined;

  /** Some providers number their calls anew in every answer. */
  function nameCall({ id, callID }: ToolPart): string {
    const open = tools.get(id);
    if (open !== undefined) return open.callId;
    const name = callIds.has(callID) ? id : callID;
    callIds.add(callID);
    names.set(callID, name);
    return name;
  }

  function start(part: ToolPart, native: Native): TranslatedEvent[] {
    if (tools.has(part.id) || part.state.status === "pending") return [];
    const callId = nameCall(part);
    const call = toToolCall({ tool: part.tool, state: part.state }, callId);
    tools.set(part.id, { callId, call });
    return [{ type: "tool.started", data: call, native }];
  }

  function takeTool(part: ToolPart, native: Native): TranslatedEvent[] {
    const { state } = part;
    if (ended.has(part.id)) return [];
    const started = start(part, native);
    if (state.status === "pending") return started;
    const callId = nameCall(part);
    if (state.status === "running") {
      const output = state.metadata?.output;
      return output === undefined ? started : [...started, ...outputs.take(callId, output, native)];
    }
    tools.delete(part.id);
    ended.add(part.id);
    outputs.end(callId);
    const tool = { ...part, state };
    const denial = state.status === "error" ? readDenial(state.error, part.tool) : undefined;
    rejected = undefined;
    if (state.status === "error" && isAutoRejected(tool)) {
      const text = `${part.tool}: permission rejected`;
      rejected = { on: "record", source: "stdout", line: native.line, name: REJECTED_TOOL, text, words: state.error };
    }
    const entries = toPlan(tool);
    return [
      ...started,
      ...(denial === undefined ? [] : [{ type: "permission.denied" as const, data: denial, native }]),
      { type: "tool.ended", data: { ...toToolCall(tool, callId), ...toToolEnd(tool) }, native },
      ...(entries === undefined ? [] : [{ type: "plan.updated" as const, data: { entries }, native }]),
    ];
  }

  return {
    take(part, native) {
      if (part.type === "tool") return takeTool(part, native);
      if (part.type !== "text" && part.type !== "reasoning") return [];
      // Written by the CLI in the user's name, or never shown to the model.
      if (part.type === "text" && (part.synthetic === true || part.ignored === true)) return [];
      const kind = part.type === "text" ? "message" : "reasoning";
      texts.begin(part.id, kind);
      return part.time?.end === undefined ? [] : texts.complete(part.id, kind, part.text, native);
    },
    delta(data, atMs, native) {
      const read = PartDelta.safeParse(data).data;
      return read?.field === "text" ? texts.delta(read.partID, read.delta, atMs, native) : [];
    },
    retry: (native) => texts.discard("retry", native),
    interrupt: () => texts.interrupt(),
    close() {
      const left = [...tools.values()].map(({ call }): TranslatedEvent => ({
        type: "tool.ended",
        data: { ...call, status: "interrupted" },
      }));
      tools.clear();
      return [...texts.discard("ended"), ...left];
    },
    nameOf: (callId) => names.get(callId) ?? callId,
    isBusy: () => tools.size > 0,
    rejected: () => rejected,
  };
}
