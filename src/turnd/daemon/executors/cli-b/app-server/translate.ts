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
import { createHistoryWatch } from "../translate/history.ts";
import { createStderrReader } from "../translate/stderr.ts";
import { NO_USAGE, subtractUsage } from "../translate/usage.ts";
import { UserMessage } from "./items.ts";
import { isKnownMethod } from "./methods.ts";
import {
  ItemNotice,
  placeOf,
  readMessage,
  ThreadReply,
  TurnList,
  TurnReply,
  type Asked,
  type Notification,
  type Reply,
} from "./records.ts";
import { createTurnEnd, mismatchFailure, type Place } from "./turn-end.ts";
import { createTurnItems } from "./turn-items.ts";
import { createTurnNotices } from "./turn-notices.ts";

/** Of what one call prints while it runs, where no limit is given. */
const MAX_TOOL_OUTPUT_BYTES = 262_144;
const NOTHING: Translation = { events: [] };

/**
 * Turns the part of an app server's output that belongs to one turn into events: what the server printed, and what turnd
 * asked, which stands between it.
 *
 * Both ids, the thread's and the turn's, have to match; what else the server says of the thread is another turn's.
 * @see docs/contracts/cli-b-app-server.md
 */
export function createAppServerTranslator(input: TranslatorInput): Translator {
  const { requestedSession, holdBack = () => 0, maxToolOutputBytes = MAX_TOOL_OUTPUT_BYTES } = input;
  const items = createTurnItems({ maxToolOutputBytes, holdBack });
  const history = createHistoryWatch();
  const stderr = createStderrReader(history);
  const notices = createTurnNotices(history);
  const end = createTurnEnd();
  const asked = new Map<Asked["id"], Asked>();
  const strangers = new Set<string>();
  let threadId: string | undefined;
  let turnId: string | undefined;
  let isBound = false;
  let halt: FailureDraft | undefined;

  const placeAt = ({ line }: Native): Place => ({ line, hasItems: items.hasAny() });

  function bind(bound: string, native: Native): Translation {
    threadId = bound;
    if (isBound) return NOTHING;
    isBound = true;
    const isResumed = requestedSession !== null && requestedSession.toLowerCase() === bound.toLowerCase();
    if (requestedSession !== null && !isResumed) {
      halt = mismatchFailure(requestedSession, bound, native.line);
      return { events: [], halt };
    }
    return { events: [{ type: "session.bound", data: { native_session_id: bound, resumed: isResumed }, native }] };
  }

  function readReply(reply: Reply, native: Native): Translation {
    const request = typeof reply.id === "string" ? asked.get(reply.id) : undefined;
    if (request === undefined) return NOTHING;
    if (reply.error !== undefined) {
      end.refuse(request.method, reply.error, placeAt(native));
      return NOTHING;
    }
    switch (request.method) {
      case "thread/start":
      case "thread/resume": {
        const thread = ThreadReply.safeParse(reply.result);
        return thread.success ? bind(thread.data.thread.id, native) : NOTHING;
      }
      case "turn/start": {
        const turn = TurnReply.safeParse(reply.result);
        end.accept();
        if (turn.success) turnId = turn.data.turn.id;
        return NOTHING;
      }
      case "thread/turns/list":
        turnId ??= findTurn(reply);
        return NOTHING;
      default:
        return NOTHING;
    }
  }

  /** After a restart of turnd: whose input the server has taken. */
  function findTurn(reply: Reply): string | undefined {
    const list = TurnList.safeParse(reply.result);
    const starts = [...asked.values()].filter(({ method }) => method === "turn/start");
    const wanted = new Set(starts.map(({ params }) => params["clientUserMessageId"]));
    return list.data?.data.find(({ items: taken }) => taken.some(({ clientId }) => wanted.has(clientId)))?.id;
  }

  function isOurs(params: Notification["params"]): boolean {
    const place = placeOf(params);
    return place.threadId === threadId && place.turnId !== undefined && place.turnId === turnId;
  }

  function beginTurn(params: Notification["params"], native: Native): Translation {
    const place = placeOf(params);
    if (place.turnId !== undefined && place.turnId === turnId)
      return { ...bind(place.threadId, native), isToolFree: true };
    // The server begins turns by itself, with what others have put into its queue.
    if (place.turnId === undefined || strangers.has(place.turnId)) return NOTHING;
    strangers.add(place.turnId);
    const message = `the CLI began a turn that turnd did not ask for (${place.turnId}): it was interrupted`;
    return { events: [{ ...warningEvent("foreign_turn", message), native }] };
  }

  function readNotification({ method, params, emittedAtMs: atMs }: Notification, native: Native): Translation {
    if (method === "turn/started") return beginTurn(params, native);
    if (method === "warning" || method === "guardianWarning" || method === "configWarning") {
      return { events: notices.warning(params["message"] ?? params["summary"], native) };
    }
    if (!isOurs(params)) return NOTHING;
    switch (method) {
      case "turn/completed":
        end.complete(params, placeAt(native));
        return { events: items.close(native) };
      case "item/started":
        return { events: acceptInput(params, native) ?? items.start(params, native) };
      case "item/completed":
        return items.complete(params, native);
      case "item/agentMessage/delta":
      case "item/plan/delta":
        return { events: items.delta("message", params, atMs, native) };
      case "item/reasoning/summaryTextDelta":
      case "item/reasoning/textDelta":
        return { events: items.delta("reasoning", params, atMs, native) };
      case "item/commandExecution/outputDelta":
        return { events: items.toolOutput(params, atMs, native) };
      case "error": {
        const retries = end.retry(params, native, placeAt(native));
        return { events: retries.length === 0 ? [] : [...items.discard("retry", native), ...retries] };
      }
      case "thread/tokenUsage/updated":
        notices.usage(params);
        return NOTHING;
      case "turn/plan/updated":
        return { events: notices.plan(params, native) };
      default:
        return NOTHING;
    }
  }

  /** The proof that an input was delivered; a steer voids what is being written. Undefined for any other item. */
  function acceptInput(params: Notification["params"], native: Native): TranslatedEvent[] | undefined {
    const message = UserMessage.safeParse(ItemNotice.safeParse(params).data?.item);
    if (!message.success) return undefined;
    const clientId = message.data.clientId ?? undefined;
    const request = [...asked.values()].find(
      ({ params: given }) => clientId !== undefined && given["clientUserMessageId"] === clientId,
    );
    if (request === undefined) {
      const text = "the CLI took in a message that turnd did not send";
      return [{ ...warningEvent("foreign_turn", text), native }];
    }
    const kind = request.method === "turn/steer" ? "steer" : "turn";
    // What is said with a decision is no input of a turn.
    if (kind === "steer" && request.request_id === undefined) return [];
    const data = { request_id: request.request_id ?? `${clientId}`, kind } as const;
    const withdrawn = kind === "steer" ? items.discard("steer", native) : [];
    return [...withdrawn, { type: "input.accepted", data, native }];
  }

  function takeAsked(message: Asked): Translation {
    asked.set(message.id, message);
    // On a thread that the server has open nothing else says which it is.
    const { threadId: named } = message.params;
    if (message.method === "turn/start" && typeof named === "string") threadId ??= named;
    return NOTHING;
  }

  function pushStdout(line: OutputLine): Translation {
    const message = line.isTruncated ? ({ kind: "unknown", reason: "not_json" } as const) : readMessage(line.text);
    const { number } = line;
    switch (message.kind) {
      case "blank":
        return NOTHING;
      case "asked":
        return takeAsked(message.asked);
      case "answered":
        return { events: items.answer(message.answered, { line: number, type: "turnd.answered" }) };
      case "reply":
        return readReply(message.reply, { line: number, type: "reply", id: `${message.reply.id}` });
      case "request": {
        const { method, id, params } = message.request;
        const native = { line: number, type: method, id: `${id}` };
        return isOurs(params) ? { events: items.ask(message.request, native) } : NOTHING;
      }
      case "notification": {
        const { method, params } = message.notification;
        if (!isKnownMethod(method)) return unknown(line, "unknown_type", method);
        const { itemId } = params;
        const native = { line: number, type: method, ...(typeof itemId === "string" ? { id: itemId } : {}) };
        return readNotification(message.notification, native);
      }
      case "unknown":
        return unknown(line, message.reason);
    }
  }

  return {
    push(line) {
      // Nothing of another session is emitted.
      if (halt !== undefined) return NOTHING;
      return line.source === "stdout" ? pushStdout(line) : { events: stderr.push(line) };
    },
    activity: () => ({ isComplete: end.isOver(), hasOpenTool: items.isBusy() }),
    end(outcome) {
      const before = requestedSession === null ? NO_USAGE : input.usageBefore;
      const total = notices.total();
      const usage = total && before && subtractUsage(total, before);
      const usageAfter = total ?? before;
      const historyLost = history.lost();
      return {
        ...(historyLost === undefined ? {} : { historyLost }),
        events: items.close(),
        output: items.output(),
        nativeSessionId: threadId ?? null,
        isResumed: halt === undefined && requestedSession !== null && isBound,
        ...(usage === undefined ? {} : { usage }),
        ...(usageAfter === undefined ? {} : { usageAfter }),
        ...(halt === undefined ? end.explain(outcome, stderr.facts(true)) : { failure: halt }),
      } satisfies Ending;
    },
  };
}

function unknown(line: OutputLine, reason: "not_json" | "bad_shape" | "unknown_type", type?: string): Translation {
  const native = { line: line.number, ...(type === undefined ? {} : { type }) };
  return { events: [{ type: "record.unknown", data: { reason, line: line.text }, native }] };
}
