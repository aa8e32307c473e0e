import { defined } from "../../../../../kit/defined.ts";
import { warningEvent, type Native } from "../../../../protocol/index.ts";
import type {
  Ending,
  Outcome,
  OutputLine,
  TranslatedEvent,
  Translation,
  Translator,
  TranslatorInput,
} from "../../contract/translator.ts";
import type { FailureDraft } from "../../contract/failures.ts";
import { createCompactionCount } from "./compactions.ts";
import { createEnded, describeRecovered, explainEnding, isProperlyFinished, type EndState } from "./ending.ts";
import { REJECTED_TOOL, toErrorFact, USAGE_TEXT } from "../failures/facts.ts";
import { timeOf } from "../records/record-time.ts";
import { stripEscapes } from "../../contract/json-line.ts";
import { createRepeatFilter } from "../../classification/repeats.ts";
import { createRecentIds } from "../../classification/recent-ids.ts";
import { readRecord, RECOVERED, type CliARecord, type CliATool } from "../records/record.ts";
import { createPrintedParts, recoverFromStore } from "./export-backfill.ts";
import { createSessionGate } from "./session.ts";
import { createStderrReader } from "./stderr.ts";
import { createStepTracker, nameMessage } from "./steps.ts";
import { isAutoRejected, readDenial, toPlan, toToolCall, toToolEnd } from "./tools.ts";

const NOTHING: Translation = { events: [] };
/** A part that is printed once more, or a call's number that is given once more, comes within an answer or two. */
const MAX_RECENT = 200;
/** The first line of the help text that 1.3.2 prints to stdout for arguments it does not take. */
const USAGE = /^\S+ run \[message\.\.\]/;

/**
 * Turns what one process of CLI A prints into events.
 *
 * The CLI prints a tool call only when it has ended, so both of its events come from one record. A message is never
 * marked `final`, because only the end of the turn shows which is.
 * @see docs/contracts/cli-a.md §1, §3, §6
 */
export function createCliATranslator({ requestedSession, drift }: TranslatorInput): Translator {
  const session = createSessionGate(requestedSession);
  const steps = createStepTracker();
  const compactions = createCompactionCount();
  const stderr = createStderrReader(requestedSession !== null);
  const texts = createRepeatFilter();
  const thoughts = createRepeatFilter();
  const printed = createRecentIds(MAX_RECENT);
  const callIds = createRecentIds(MAX_RECENT);
  const parts = createPrintedParts();
  const ended = createEnded();
  const message: { id: string | undefined; text: string } = { id: undefined, text: "" };
  const rejectedTools: TranslatedEvent[] = [];
  let output: string | null = null;
  let hasRecords = false;
  let isErrorPassed = false;
  let answers = 0;
  let halt: FailureDraft | undefined;
  let endless: FailureDraft | undefined;

  function admit(sessionId: string, native: Native): readonly TranslatedEvent[] {
    hasRecords = true;
    const admitted = session.admitRecord(sessionId, native);
    halt = admitted.halt;
    return admitted.events;
  }

  function translate(record: CliARecord, native: Native): TranslatedEvent[] {
    switch (record.type) {
      case "step_start":
        ended.rejectedTool = undefined;
        startRequest(record.part.messageID);
        return [...passError(), ...steps.start(record.part.messageID, native)];
      case "text":
        // Written by the CLI in the user's name, or never shown to the model. Source: docs/contracts/cli-a.md §1.3.
        if (record.part.synthetic === true || record.part.ignored === true || record.part.text === "") return [];
        steps.addContent("text");
        addToOutput(record.part.messageID, record.part.text);
        if (texts.isRepeat(record.part.text)) return [];
        return [
          {
            type: "message",
            data: { message_id: nameMessage(record.part.id, native), text: record.part.text },
            native,
          },
        ];
      case "reasoning":
        if (thoughts.isRepeat(record.part.text)) return [];
        return [
          {
            type: "reasoning",
            data: { message_id: nameMessage(record.part.id, native), text: record.part.text },
            native,
          },
        ];
      case "tool_use":
        return endTool(record.part, native);
      case "step_finish": {
        const { reason } = record.part;
        answers += 1;
        ended.finish = { reason, line: native.line, hasContent: steps.hasContent() };
        if (reason === "stop") {
          ended.error = undefined;
          ended.rejectedTool = undefined;
        }
        const finished = steps.finish(record.part, native);
        halt = finished.halt;
        return finished.events;
      }
      case "error":
        ended.hasErrors = true;
        ended.errorRef = record.error.data.ref;
        return addError(toErrorFact(record.error, native.line), native);
      case RECOVERED:
        return [{ ...warningEvent("output_recovered", describeRecovered(record.records)), native }];
    }
  }

  /** A step that begins once more is asked for again, after its answer was cut off: whole blocks of it come again. */
  function startRequest(messageId: string): void {
    const isRetry = steps.isOpen(messageId);
    message.id = undefined;
    for (const repeats of [texts, thoughts]) {
      if (isRetry) repeats.retried();
      else repeats.answered();
    }
  }

  /** Text that goes on within one message, with nothing in between, is one answer. */
  function addToOutput(messageId: string, text: string): void {
    message.text = message.id === messageId ? message.text + text : text;
    message.id = messageId;
    output = message.text;
  }

  function endTool(part: CliATool, native: Native): TranslatedEvent[] {
    steps.addContent("tool");
    message.id = undefined;
    // Some providers number their calls anew in every answer.
    const id = callIds.has(part.callID) ? part.id : part.callID;
    callIds.add(part.callID);
    callIds.add(id);
    const call = toToolCall(part, id);
    const denial = part.state.status === "error" ? readDenial(part.state.error, part.tool) : undefined;
    if (isAutoRejected(part)) {
      const text = `${part.tool}: permission rejected`;
      const words = part.state.status === "error" ? part.state.error : text;
      ended.rejectedTool = { on: "record", source: "stdout", line: native.line, name: REJECTED_TOOL, text, words };
      // Its permission and patterns stand on stderr; only where they do not, this is what can be said.
      rejectedTools.push({ type: "permission.denied", data: { permission: part.tool, message: text }, native });
    }
    const entries = toPlan(part);
    return [
      { type: "tool.started", data: call, native },
      ...(denial === undefined ? [] : [{ type: "permission.denied" as const, data: denial, native }]),
      { type: "tool.ended", data: { ...call, ...toToolEnd(part) }, native },
      ...(entries === undefined ? [] : [{ type: "plan.updated" as const, data: { entries }, native }]),
    ];
  }

  /** Whether the turn fails with an error, only what follows shows; the same one is often printed twice. */
  function addError(fact: NonNullable<EndState["error"]>, native: Native): TranslatedEvent[] {
    const isRepeated = ended.error?.text === fact.text;
    const earlier = isRepeated ? [] : passError();
    if (!isRepeated) isErrorPassed = false;
    ended.error = fact;
    const denial = readDenial(fact.text, "doom_loop");
    return denial === undefined || isRepeated
      ? earlier
      : [...earlier, { type: "permission.denied", data: denial, native }];
  }

  /** An error the CLI went on after. */
  function passError(): TranslatedEvent[] {
    if (ended.error === undefined || isErrorPassed) return [];
    isErrorPassed = true;
    const { text, line } = ended.error;
    const native = line === undefined ? {} : { native: { line, type: "error" } };
    return [{ ...warningEvent("cli_error", text), ...native }];
  }

  function pushStdout(line: OutputLine): Translation {
    const read = line.isTruncated ? ({ kind: "unknown", reason: "not_json" } as const) : readRecord(line.text);
    if (read.kind === "blank") return NOTHING;
    if ("value" in read) drift?.(read.value, line.number);
    if (read.kind === "unknown") return pushUnknown(line, read);
    const { record } = read;
    const { type } = record;
    const partId = "part" in record ? record.part.id : "";
    const native: Native = { line: line.number, type, ...(partId === "" ? {} : { id: partId }) };
    const admitted = admit(record.sessionID, native);
    if (halt !== undefined) return { events: [], halt };
    noteLast(record.type, record.timestamp);
    if (record.type === "tool_use") compactions.noteTool(record.timestamp ?? 0);
    if ("part" in record && partId !== "") {
      if (printed.has(partId)) return { events: admitted };
      printed.add(partId);
      parts.add(record.part.messageID, partId);
    }
    const events = [...admitted, ...translate(record, native)];
    return {
      events,
      // The last step's end is the turn's: what steers it comes next by itself.
      ...(record.type === "step_finish" && record.part.reason !== "stop" ? { isStepBoundary: true } : {}),
      ...(record.type === "step_finish" || record.type === "step_start"
        ? { isToolFree: true, ...defined({ printedAt: timeOf(record) }) }
        : {}),
      ...defined({ halt }),
    };
  }

  function pushUnknown(
    line: OutputLine,
    read: { reason: "not_json" | "unknown_type" | "bad_shape"; type?: string; sessionID?: string },
  ): Translation {
    const native: Native = { line: line.number, ...defined({ type: read.type }) };
    const admitted = read.sessionID === undefined ? [] : admit(read.sessionID, native);
    if (halt !== undefined) return { events: [], halt };
    const text = stripEscapes(line.text);
    // What was cut off, or has another form, may undo the proof of success; noise and types of later versions do not.
    if (read.type === "error") ended.hasErrors = true;
    if (read.reason === "bad_shape" || (read.reason === "not_json" && text.startsWith("{")))
      noteLast("unknown", undefined);
    if (USAGE.test(text)) {
      ended.usageText ??= { on: "record", source: "stdout", line: line.number, name: USAGE_TEXT, text };
    }
    const data = { reason: read.reason, line: line.text };
    return { events: [...admitted, { type: "record.unknown", data, native }] };
  }

  function noteLast(type: string, timestamp: number | undefined): void {
    ended.lastRecord = type;
    ended.lastRecordMs = Math.max(ended.lastRecordMs ?? 0, timestamp ?? 0);
  }

  function pushStderr(line: OutputLine): Translation {
    const { events, session: sign, summarised, ...rest } = stderr.push(line);
    // A subagent's own tools are not printed.
    if (summarised?.sessionId === session.id()) endless ??= compactions.add(line, summarised.latestMs);
    if (endless !== undefined) return { ...rest, events, halt: endless };
    if (sign === undefined) return { ...rest, events };
    return { ...rest, events: [...session.admitSign(sign, { source: "stderr", line: line.number }), ...events] };
  }

  function explain(outcome: Outcome): Pick<Ending, "failure" | "proof"> {
    const stop = halt ?? endless;
    if (stop !== undefined) return { failure: stop };
    return explainEnding({
      ended: withCause(),
      outcome,
      stderr: stderr.facts(hasRecords ? ended.lastRecordMs : undefined, outcome),
      requestedSession,
      nativeSessionId: session.id(),
      isBehind: isBehind(),
    });
  }

  /** An answer may end like the last one and be followed by others: to summarise, and to go on after that. */
  function isBehind(): boolean {
    return stderr.answersAsked(session.expectedId()) > answers;
  }

  /** An error that says where its cause stands is read as that cause. */
  function withCause(): EndState {
    const cause =
      ended.errorRef === undefined || ended.error === undefined ? undefined : stderr.causeOf(ended.errorRef);
    return cause === undefined ? ended : { ...ended, error: cause };
  }

  /** Whether the turn's end is known; what stderr reported before the last record may have been recovered from. */
  function isExplained(failure: Ending["failure"]): boolean {
    return failure === undefined || (failure.isProven && (failure.on !== "stderr" || !hasRecords));
  }

  return {
    push(line) {
      // Nothing of another session is emitted.
      if (halt !== undefined) return NOTHING;
      return line.source === "stdout" ? pushStdout(line) : pushStderr(line);
    },
    findLost(outcome) {
      const sessionId = session.expectedId();
      if (sessionId === null || halt !== undefined) return undefined;
      if (outcome.wasStopped || outcome.exit?.code !== 0 || ended.lastRecord === "error") return undefined;
      return isBehind() || !isExplained(explain(outcome).failure) ? recoverFromStore(sessionId, parts) : undefined;
    },
    activity: () => ({
      isComplete: isProperlyFinished(ended) && !isBehind(),
      hasOpenTool: stderr.hasOpenTool(session.expectedId()),
    }),
    end(outcome: Outcome): Ending {
      const usage = steps.usage();
      const costUsd = steps.costUsd();
      return {
        events: halt === undefined && stderr.rejections() === 0 ? rejectedTools : [],
        output,
        nativeSessionId: session.id(),
        isResumed: session.isResumed(),
        ...defined({ usage }),
        ...(costUsd === 0 ? {} : { costUsd }),
        ...explain(outcome),
      };
    },
  };
}
