import { defined } from "../../../../../kit/defined.ts";
import { warningEvent, type Native } from "../../../../protocol/index.ts";
import type {
  Ending,
  Outcome,
  OutputLine,
  Translation,
  Translator,
  TranslatorInput,
  TranslatedEvent,
} from "../../contract/translator.ts";
import type { FailureDraft, Fact } from "../../contract/failures.ts";
import { createRepeatFilter } from "../../classification/repeats.ts";
import { toEvidence } from "../../classification/rules.ts";
import { explainEnding, type EndState } from "./ending.ts";
import { toProviderFact } from "../failures/facts.ts";
import { classify, SESSION_MISMATCH } from "../failures/failure.ts";
import { readRecord, type CliBItem, type CliBRecord } from "../records/record.ts";
import { createStderrReader } from "./stderr.ts";
import { createHistoryWatch } from "./history.ts";
import { createToolTracker } from "./tools.ts";
import { NO_USAGE, subtractUsage, toUsage } from "./usage.ts";

/** With "waiting for network" in place of numbers in later versions; seen in 0.169.0. */
const RECONNECTING = /^Reconnecting\.\.\. (?:(\d{1,9})\/(\d{1,9})|waiting for network)(?: \((.*)\))?$/s;
/** In every turn with a model that 0.169.0 has no table of, as most of other makers are; 0.139.0 does not mention it. */
const UNKNOWN_MODEL = /^Model metadata for `[^`]*` not found\. Defaulting to fallback metadata/;
const NOTHING: Translation = { events: [] };

/**
 * Turns what one process of CLI B prints into events.
 *
 * Steps are absent: CLI B does not show where one model request ends and the next begins. A message is never marked
 * `final`, because only the end of the turn shows which is.
 * @see docs/contracts/cli-b.md §2, §4
 */
export function createCliBTranslator(input: TranslatorInput): Translator {
  const tools = createToolTracker();
  const texts = createRepeatFilter();
  const thoughts = createRepeatFilter();
  const history = createHistoryWatch();
  const stderr = createStderrReader(history);
  const notices = new Set<string>();
  const ended: EndState = {
    hasRecords: false,
    completed: undefined,
    error: undefined,
    failed: undefined,
    retryCause: undefined,
  };
  let nativeSessionId: string | null = null;
  let output: string | null = null;
  let usageAfter: Ending["usageAfter"];
  let plan: string | undefined;
  let halt: FailureDraft | undefined;
  let hasItems = false;
  let waits = 0;

  function bind(threadId: string, native: Native): Translation {
    const { requestedSession } = input;
    if (nativeSessionId !== null)
      return { events: nativeSessionId === threadId ? [] : [otherThread(threadId, native)] };
    nativeSessionId = threadId;
    const isResumed = requestedSession !== null && isSameId(requestedSession, threadId);
    if (requestedSession !== null && !isResumed) {
      halt = mismatchFailure(requestedSession, threadId, native.line);
      return { events: [], halt };
    }
    return {
      events: [{ type: "session.bound", data: { native_session_id: threadId, resumed: isResumed }, native }],
    };
  }

  function translate(record: CliBRecord, native: Native): Translation {
    const { failed, error } = ended;
    ended.hasRecords = true;
    if (record.type !== "error") ended.retryCause = undefined;
    switch (record.type) {
      case "thread.started":
        return bind(record.thread_id, native);
      case "turn.started":
        ended.completed = undefined;
        return { events: [], isToolFree: true };
      case "item.started":
        return { events: startItem(record.item, native) };
      case "item.updated":
        return { events: updateItem(record.item, native) };
      case "item.completed":
        return {
          events: completeItem(record.item, native),
          // A message may be the turn's last: then what steers it comes next by itself, otherwise a call follows at once.
          isStepBoundary: tools.isIdle() && record.item.type !== "agent_message",
          isToolFree: tools.isIdle(),
        };
      case "turn.completed":
        ended.completed = { source: "stdout", line: native.line, text: `"type":"${record.type}"` };
        if (record.usage !== undefined) usageAfter = toUsage(record.usage);
        ended.failed = undefined;
        ended.error = undefined;
        return { events: [failed, error].flatMap((fact) => (fact === undefined ? [] : [passedError(fact)])) };
      case "turn.failed":
        ended.completed = undefined;
        ended.failed = toProviderFact(record.error.message, { line: native.line, hasItems });
        ended.error = undefined;
        // The same text was printed as `error` just before: it is shown once, as the failure.
        return { events: error === undefined || error.words === record.error.message ? [] : [passedError(error)] };
      case "error":
        ended.completed = undefined;
        return { events: translateError(record.message, native) };
    }
  }

  function translateError(message: string, native: Native): TranslatedEvent[] {
    const [notice, attempt, max, cause] = RECONNECTING.exec(message) ?? [];
    const earlier = ended.error === undefined ? [] : [passedError(ended.error)];
    if (notice === undefined || Number(attempt) < 1) {
      // Whether the turn fails with it, only the next record shows.
      ended.error = toProviderFact(message, { line: native.line, hasItems });
      return earlier;
    }
    ended.error = undefined;
    ended.retryCause = toProviderFact(cause ?? message, { line: native.line, hasItems });
    for (const repeats of [texts, thoughts]) repeats.retried();
    return [
      ...earlier,
      {
        type: "retry",
        data: {
          attempt: attempt === undefined ? (waits += 1) : Number(attempt),
          ...(Number(max) > 0 ? { max: Number(max) } : {}),
          code: classify([ended.retryCause]).code,
          message: cause ?? message,
        },
        native,
      },
    ];
  }

  function startItem(item: CliBItem, native: Native): TranslatedEvent[] {
    hasItems = true;
    switch (item.type) {
      case "command_execution":
      case "file_change":
      case "mcp_tool_call":
      case "collab_tool_call":
      case "web_search":
        return tools.start(item, native);
      case "todo_list":
        return updatePlan(item, native);
      case "agent_message":
      case "reasoning":
      case "error":
        // Printed when completed, with the same text.
        return [];
    }
  }

  function updateItem(item: CliBItem, native: Native): TranslatedEvent[] {
    // A tool's completed record repeats everything an update could say.
    return item.type === "todo_list" ? updatePlan(item, native) : [];
  }

  /** 0.169.0 prints its remarks on a configuration twice, and in a review those on the model too. */
  function noticeOf(message: string, native: Native): TranslatedEvent[] {
    if (notices.has(message) || UNKNOWN_MODEL.test(message)) return [];
    notices.add(message);
    return [{ ...warningEvent("cli_warning", message), native }];
  }

  function completeItem(item: CliBItem, native: Native): readonly TranslatedEvent[] {
    // A warning of the CLI's own is nothing the provider sent.
    hasItems ||= item.type !== "error";
    switch (item.type) {
      case "agent_message":
        output = item.text;
        if (texts.isRepeat(item.text)) return [];
        return [{ type: "message", data: { message_id: item.id, text: item.text }, native }];
      case "reasoning":
        if (thoughts.isRepeat(item.text)) return [];
        return [{ type: "reasoning", data: { message_id: item.id, text: item.text }, native }];
      case "todo_list":
        return updatePlan(item, native);
      case "error":
        return history.read(item.message, native) ?? noticeOf(item.message, native);
      case "command_execution":
      case "file_change":
      case "mcp_tool_call":
      case "collab_tool_call":
      case "web_search":
        for (const repeats of [texts, thoughts]) repeats.answered();
        return tools.end(item, native);
    }
  }

  function updatePlan(item: Extract<CliBItem, { type: "todo_list" }>, native: Native): TranslatedEvent[] {
    const entries = item.items.map(({ text, completed }) => ({
      content: text,
      status: completed ? ("completed" as const) : ("pending" as const),
    }));
    // The list is printed once more when the turn ends, mostly unchanged.
    const now = JSON.stringify(entries);
    if (now === plan) return [];
    plan = now;
    return [{ type: "plan.updated", data: { entries }, native }];
  }

  function pushStdout(line: OutputLine): Translation {
    const read = line.isTruncated ? ({ kind: "unknown", reason: "not_json" } as const) : readRecord(line.text);
    if (read.kind === "blank") return NOTHING;
    if ("value" in read) input.drift?.(read.value, line.number);
    if (read.kind === "record") {
      const { record } = read;
      const { type } = record;
      const { number } = line;
      return translate(record, "item" in record ? { line: number, type, id: record.item.id } : { line: number, type });
    }
    const type = "type" in read && read.type !== undefined ? { type: read.type } : {};
    const data = { reason: read.reason, line: line.text };
    return { events: [{ type: "record.unknown", data, native: { line: line.number, ...type } }] };
  }

  return {
    push(line) {
      // Nothing of another session is emitted.
      if (halt !== undefined) return NOTHING;
      return line.source === "stdout" ? pushStdout(line) : { events: stderr.push(line) };
    },
    activity: () => ({ isComplete: ended.completed !== undefined, hasOpenTool: !tools.isIdle() }),
    end(outcome: Outcome): Ending {
      const before = input.requestedSession === null ? NO_USAGE : input.usageBefore;
      const usage = usageAfter && before && subtractUsage(usageAfter, before);
      // The next total has what a turn without one has used: it is counted there, once.
      const lastTotal = usageAfter ?? before;
      const explained =
        halt === undefined
          ? explainEnding({ ended, outcome, stderr: stderr.facts(ended.hasRecords), input, nativeSessionId })
          : { failure: halt };
      const historyLost = history.lost();
      return {
        ...defined({ historyLost }),
        events: tools.interrupt(),
        output,
        nativeSessionId,
        isResumed: halt === undefined && input.requestedSession !== null && nativeSessionId !== null,
        ...defined({ usage, usageAfter: lastTotal }),
        ...explained,
      };
    },
  };
}

function isSameId(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

/** An error the turn went on after. */
function passedError(fact: Pick<Fact, "text" | "words" | "line">): TranslatedEvent {
  const native = fact.line === undefined ? {} : { native: { line: fact.line, type: "error" } };
  return { ...warningEvent("cli_error", fact.words ?? fact.text), ...native };
}

function otherThread(threadId: string, native: Native): TranslatedEvent {
  const message = `the CLI announced another thread in the same run: ${threadId}`;
  return { ...warningEvent("other_thread", message), native };
}

/** CLI B starts a new thread silently when it takes the id for a name. Source: docs/contracts/cli-b.md §4. */
function mismatchFailure(requested: string, bound: string, line: number): FailureDraft {
  return {
    ...SESSION_MISMATCH,
    message: `CLI B was to continue thread ${JSON.stringify(requested)} and started ${bound} instead.`,
    evidence: [toEvidence({ source: "stdout", line, text: `{"type":"thread.started","thread_id":"${bound}"}` })],
    isProven: true,
  };
}
