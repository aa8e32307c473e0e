import { defined } from "../../../../../kit/defined.ts";
import { warningEvent, type Native } from "../../../../protocol/index.ts";
import type { FailureDraft } from "../../contract/failures.ts";
import type {
  Ending,
  OutputLine,
  TranslatedEvent,
  Translation,
  Translator,
  TranslatorInput,
} from "../../contract/translator.ts";
import { createStderrReader } from "../translate/stderr.ts";
import { createStepTracker } from "../translate/steps.ts";
import { readAsking } from "./asks.ts";
import { isKnownChange } from "./known-changes.ts";
import {
  MessageUpdated,
  OTHER_PARTS,
  PartType,
  PartUpdated,
  readLine,
  Resolved,
  SessionCreated,
  SessionInfo,
  sessionOf,
  type Answered,
  type Asked,
  type Change,
  type Message,
  type Part,
  type Reply,
} from "./records.ts";
import { createSessionParts, type SessionParts } from "./session-parts.ts";
import { createToolOutput } from "./tool-output.ts";
import { createTurnEnd, mismatchFailure } from "./turn-end.ts";

/** What the model is given: what begins the turn, or comes into it. */
interface Input {
  readonly requestId: string | undefined;
  readonly kind: "turn" | "steer";
}

/** Of what one call prints while it runs, where no limit is given. */
const MAX_TOOL_OUTPUT_BYTES = 262_144;
const NOTHING: Translation = { events: [] };
const COMPACTED = "The conversation fills the model's context: CLI A asks for a summary to go on with.";
/** What the server prints when it begins. */
const LISTENING = /listening on http:\/\//;

/**
 * Turns the part of a server's output that belongs to one turn into events: what the relay passed on, and what turnd asked,
 * which stands between it.
 *
 * @see docs/contracts/cli-a-server.md
 */
export function createServerTranslator(input: TranslatorInput): Translator {
  const { requestedSession, holdBack = () => 0, maxToolOutputBytes = MAX_TOOL_OUTPUT_BYTES } = input;
  const outputs = createToolOutput(maxToolOutputBytes, holdBack);
  const own = createSessionParts({ outputs, holdBack });
  const steps = createStepTracker();
  const stderr = createStderrReader(requestedSession !== null);
  const end = createTurnEnd(requestedSession);
  const asked = new Map<string, Asked>();
  /** Messages of the user's whose answers are the turn's: its input, and what a compaction goes on with. */
  const inputs = new Map<string, Input | undefined>();
  const answers = new Set<string>();
  const summaries = new Set<string>();
  /** The turn's subagents, by their sessions. */
  const children = new Map<string, { parts: SessionParts; callId: string | undefined }>();
  const asks = new Map<string, "approval" | "input">();
  const seen = new Set<string>();
  let sessionId: string | undefined;
  let isBound = false;
  let hasContent = false;
  let output: { messageId: string; text: string } | undefined;
  let halt: FailureDraft | undefined;

  function bind(bound: string, native: Native): Translation {
    sessionId = bound;
    if (isBound) return NOTHING;
    isBound = true;
    if (requestedSession !== null && requestedSession.toLowerCase() !== bound.toLowerCase()) {
      halt = mismatchFailure(requestedSession, bound, native.line);
      return { events: [], halt };
    }
    const data = { native_session_id: bound, resumed: requestedSession !== null };
    return { events: [{ type: "session.bound", data, native }] };
  }

  function takeAsked(message: Asked, native: Native): Translation {
    asked.set(message.id, message);
    const { sessionID, messageID } = message.params;
    if (typeof sessionID !== "string" || typeof messageID !== "string") return NOTHING;
    inputs.set(messageID, { requestId: message.request_id, kind: message.method === "steer" ? "steer" : "turn" });
    return bind(sessionID, native);
  }

  function takeReply(reply: Reply, native: Native): Translation {
    const method = asked.get(reply.id)?.method;
    if (method !== "session" && method !== "turn") return NOTHING;
    end.reply(method, reply, native.line);
    if (method === "turn") return { events: [], isToolFree: true };
    const made = SessionInfo.safeParse(reply.body).data;
    return reply.status === 200 && made !== undefined ? bind(made.id, native) : NOTHING;
  }

  /** Which session a change is about, as far as it is the turn's. */
  function partsOf(session: string | undefined): SessionParts | undefined {
    return session === sessionId ? own : children.get(session ?? "")?.parts;
  }

  /** Events of a subagent name the call that it works for. */
  function ofSession(session: string | undefined, events: readonly TranslatedEvent[]): Translation {
    const child = children.get(session ?? "");
    if (child === undefined) return { events };
    const parent = child.callId;
    if (parent === undefined) return { events };
    return { events: events.map((event) => ({ ...event, parent_tool_call_id: parent })) };
  }

  function takeChange(change: Change, native: Native): Translation {
    const { type, data, atMs } = change;
    const session = sessionOf(data);
    if (change.id !== "") {
      // What was asked for again may come twice.
      const key = `${type} ${change.id}`;
      if (seen.has(key)) return NOTHING;
      seen.add(key);
    }
    if (type === "session.created") return takeChild(data);
    const parts = partsOf(session);
    if (parts === undefined) return NOTHING;
    switch (type) {
      case "message.updated":
        return session === sessionId ? takeMessage(data, native) : NOTHING;
      case "message.part.updated":
        return takePart(data, native);
      case "message.part.delta":
        return ofSession(session, isSummary(data) ? [] : parts.delta(data, atMs, native));
      case "session.status": {
        const retries = end.retry(data, native);
        return ofSession(session, retries.length === 0 ? [] : [...parts.retry(native), ...retries]);
      }
      case "session.error":
        if (session === sessionId) end.error(data, native.line);
        return NOTHING;
      case "permission.asked":
      case "question.asked":
        return ofSession(session, takeAsk(change, parts, native));
      case "permission.replied":
      case "question.replied":
      case "question.rejected":
        return ofSession(session, takeAnswerOfOthers(data, native));
      default:
        return NOTHING;
    }
  }

  function takeChild(data: Change["data"]): Translation {
    const { info } = SessionCreated.safeParse(data).data ?? {};
    const parent = info?.parentID;
    if (info === undefined || parent === undefined || partsOf(parent) === undefined) return NOTHING;
    children.set(info.id, { parts: createSessionParts({ outputs, holdBack }), callId: undefined });
    return NOTHING;
  }

  function isSummary(data: Change["data"]): boolean {
    return typeof data["messageID"] === "string" && summaries.has(data["messageID"]);
  }

  function takeMessage(data: Change["data"], native: Native): Translation {
    const { info } = MessageUpdated.safeParse(data).data ?? {};
    if (info === undefined) return NOTHING;
    if (info.role === "user") return acceptInput(info.id, native);
    if (info.role !== "assistant") return NOTHING;
    if (!answers.has(info.id)) {
      // An answer to an earlier turn may come late.
      if (!inputs.has(info.parentID ?? "")) return NOTHING;
      answers.add(info.id);
      hasContent = false;
    }
    if (info.summary === true) summaries.add(info.id);
    else end.answer(info satisfies Message, hasContent, native.line);
    return NOTHING;
  }

  /** The proof that the input was delivered. */
  function acceptInput(messageId: string, native: Native): Translation {
    const { requestId, kind } = inputs.get(messageId) ?? {};
    if (requestId === undefined || kind === undefined) return NOTHING;
    inputs.set(messageId, undefined);
    return { events: [{ type: "input.accepted", data: { request_id: requestId, kind }, native }] };
  }

  function takePart(data: Change["data"], native: Native): Translation {
    const read = PartUpdated.safeParse(data).data;
    if (read === undefined) {
      const { type } = PartType.safeParse(data).data?.part ?? {};
      if (type !== undefined && OTHER_PARTS.has(type)) return NOTHING;
      return unknownPart(data, native);
    }
    const { part } = read;
    if (part.sessionID !== sessionId) return takeChildPart(part, native);
    if (part.type === "compaction") {
      inputs.set(part.messageID, undefined);
      return { events: [{ ...warningEvent("context_compacted", COMPACTED), native }] };
    }
    // Of the user's messages only what the CLI itself has written goes on with the turn.
    if (!answers.has(part.messageID)) {
      if (part.type === "text" && part.synthetic === true && inputs.size > 1) inputs.set(part.messageID, undefined);
      return NOTHING;
    }
    return summaries.has(part.messageID) ? NOTHING : takeOwnPart(part, native);
  }

  function takeOwnPart(part: Part, native: Native): Translation {
    switch (part.type) {
      case "step-start":
        return { events: steps.start(part.messageID, native), isToolFree: true };
      case "step-finish": {
        const finished = steps.finish(part, native);
        halt ??= finished.halt;
        return {
          events: finished.events,
          isToolFree: !own.isBusy(),
          ...(part.reason === "stop" ? {} : { isStepBoundary: true }),
          ...defined({ halt: finished.halt }),
        };
      }
      case "text":
      case "tool":
        hasContent = true;
        steps.addContent(part.type);
        break;
      default:
    }
    if (part.type === "tool") noteSubagent(part, own);
    const events = own.take(part, native);
    for (const event of events) {
      if (event.type !== "message") continue;
      const before = output?.messageId === part.messageID ? output.text : "";
      output = { messageId: part.messageID, text: before + event.data.text };
    }
    if (part.type === "tool") output = output && { ...output, messageId: "" };
    return { events };
  }

  function takeChildPart(part: Part, native: Native): Translation {
    const child = children.get(part.sessionID);
    if (child === undefined || part.type === "compaction") return NOTHING;
    if (part.type === "tool") noteSubagent(part, child.parts);
    // The text of its input has no end.
    return ofSession(part.sessionID, child.parts.take(part, native));
  }

  /** The call of a subagent names its session. */
  function noteSubagent({ state, callID }: Extract<Part, { type: "tool" }>, parts: SessionParts): void {
    if (state.status !== "running") return;
    const child = children.get(state.metadata?.sessionId ?? "");
    if (child !== undefined) child.callId ??= parts.nameOf(callID);
  }

  function takeAsk(change: Change, parts: SessionParts, native: Native): TranslatedEvent[] {
    const asking = readAsking(change);
    if (asking === undefined || asks.has(asking.id)) return [];
    asks.set(asking.id, asking.kind);
    if (asking.kind === "input") return [{ type: "input.requested", data: asking.request, native }];
    const call = asking.callId === undefined ? {} : { tool_call_id: parts.nameOf(asking.callId) };
    return [{ type: "approval.requested", data: { ...asking.request, ...call }, native }];
  }

  /** An answer of turnd's, before the server has it. */
  function takeAnswered({ id, decision = "decline", by }: Answered, native: Native): TranslatedEvent[] {
    const kind = asks.get(id);
    if (kind === undefined) return [];
    asks.delete(id);
    if (kind === "input") return [{ type: "input.answered", data: { question_id: id, by }, native }];
    return [{ type: "approval.resolved", data: { approval_id: id, decision, by }, native }];
  }

  /** What was allowed for the session answers what asks for the same. */
  function takeAnswerOfOthers(data: Change["data"], native: Native): TranslatedEvent[] {
    const { requestID } = Resolved.safeParse(data).data ?? {};
    if (requestID === undefined || !asks.has(requestID)) return [];
    const decision = data["reply"] === "reject" ? "decline" : "accept";
    return takeAnswered({ turnd: "answered", id: requestID, decision, by: "policy" }, native);
  }

  function pushStdout(line: OutputLine): Translation {
    const { number, text } = line;
    const read = line.isTruncated ? ({ kind: "unknown", reason: "not_json" } as const) : readLine(text);
    switch (read.kind) {
      case "blank":
        return NOTHING;
      case "asked":
        return takeAsked(read.asked, { line: number, type: "turnd.asked" });
      case "answered":
        return { events: takeAnswered(read.answered, { line: number, type: "turnd.answered" }) };
      case "reply":
        return takeReply(read.reply, { line: number, type: "reply", id: read.reply.id });
      case "change": {
        const { type, id } = read.change;
        if (!isKnownChange(type)) return unknown(line, "unknown_type", type);
        return takeChange(read.change, { line: number, type, ...(id === "" ? {} : { id }) });
      }
      case "lists":
        return { events: takeLists(read.lists, number) };
      case "note":
        for (const parts of [own, ...[...children.values()].map((child) => child.parts)]) parts.interrupt();
        if (read.note === "reconnected") return NOTHING;
        return { events: [{ ...warningEvent("stream_gap", GAP), native: { line: number, type: "note" } }] };
      case "printed":
        return LISTENING.test(read.text) ? NOTHING : unknown(line, "unknown_type", "printed");
      case "unknown":
        return unknown(line, read.reason);
    }
  }

  function takeLists(
    lists: Extract<ReturnType<typeof readLine>, { kind: "lists" }>["lists"],
    line: number,
  ): TranslatedEvent[] {
    const changes = [
      ...lists.permission.map((data) => ({ id: "", type: "permission.asked", data, atMs: undefined })),
      ...lists.question.map((data) => ({ id: "", type: "question.asked", data, atMs: undefined })),
    ];
    return changes.flatMap((change) => [...takeChange(change, { line, type: change.type }).events]);
  }

  return {
    push(line) {
      // Nothing of another session is emitted.
      if (halt !== undefined) return NOTHING;
      return line.source === "stdout" ? pushStdout(line) : { events: stderrEvents(stderr.push(line).events) };
    },
    activity: () => ({
      isComplete: end.isOver(),
      hasOpenTool: own.isBusy() || asks.size > 0 || [...children.values()].some(({ parts }) => parts.isBusy()),
    }),
    end(outcome): Ending {
      const usage = steps.usage();
      const costUsd = steps.costUsd();
      const open = [...children.keys()].flatMap((session) => [
        ...ofSession(session, children.get(session)?.parts.close() ?? []).events,
      ]);
      return {
        events: halt === undefined ? [...open, ...own.close()] : [],
        output: output?.text ?? null,
        nativeSessionId: sessionId ?? null,
        isResumed: halt === undefined && requestedSession !== null && isBound,
        ...defined({ usage }),
        ...(costUsd === 0 ? {} : { costUsd }),
        ...(halt === undefined
          ? end.explain(outcome, { rejected: own.rejected(), stderr: stderr.facts(undefined, outcome) })
          : { failure: halt }),
      };
    },
  };
}

const GAP = "The server's events broke off, and what is missing could not be had of its store.";

/** What failed is said by the stream as well, and better. */
function stderrEvents(events: readonly TranslatedEvent[]): TranslatedEvent[] {
  return events.filter(({ type }) => type !== "retry");
}

function unknown(line: OutputLine, reason: "not_json" | "bad_shape" | "unknown_type", type?: string): Translation {
  const native = { line: line.number, ...(type === undefined ? {} : { type }) };
  return { events: [{ type: "record.unknown", data: { reason, line: line.text }, native }] };
}

function unknownPart(data: Change["data"], native: Native): Translation {
  return { events: [{ type: "record.unknown", data: { reason: "unknown_type", line: JSON.stringify(data) }, native }] };
}
