import type { Conversation, ConversationInput, GivenInput, Outgoing } from "../../contract/interactive.ts";
import { OWN_RECORD } from "../../contract/own-record.ts";
import { readAsking, toAnswer } from "./asks.ts";
import { makeId } from "./ids.ts";
import { createOpenAsks } from "./open-asks.ts";
import {
  MessageUpdated,
  PartUpdated,
  readLine,
  Resolved,
  SessionInfo,
  sessionOf,
  type Asked,
  type Change,
  type Reply,
} from "./records.ts";
import {
  abortRequest,
  answerRequest,
  promptRequest,
  sessionRequest,
  settleRequest,
  type InputIds,
} from "./requests.ts";

type Step = "session" | "turn" | "abort" | "settle";

interface AskedStep {
  readonly id: string;
  /** This turnd has sent it; of an earlier one that is not known. */
  isSent: boolean;
  reply: Reply | undefined;
}

/** So many numbers before the first that was seen are asked for, where the stream began too late. */
const BEFORE_FIRST = 64;
/** How often the end is looked for in the store. */
const MAX_SETTLES = 3;

/**
 * Makes the conversation with a server about one turn: makes or finds the session, hands over the input, and has the stream
 * completed when the server has answered.
 *
 * A request has the same id when it is said again, and the relay sends it once. Law: at most once.
 */
export function createConversation(input: ConversationInput): Conversation {
  const { turnId, requestId, invocation } = input;
  const asks = createOpenAsks(input.isAsking);
  const steps = new Map<Step, AskedStep>();
  const given: GivenInput[] = [];
  /** What became of those that this turnd has handed over, by the ids of their requests. */
  const steers = new Map<string, Reply | undefined>();
  const firstSeen = new Map<string, number>();
  let sessionId = input.loadedThread ?? invocation.resume;
  let ids: InputIds | undefined;
  let isInputSeen = false;
  let isRunning = false;
  let isToEnd = false;
  let isRefused = false;
  let hasTools = false;
  let settles = 0;

  const isAsked = (step: Step): boolean => steps.has(step);
  const replyOf = (step: Step): Reply | undefined => steps.get(step)?.reply;
  // What a later turn says is answered by a run of its own where it came too late for this one: it is this turn's, too.
  const isGivenAnswered = (): boolean => [...steers.values()].every((reply) => reply !== undefined);
  const hasEnded = (): boolean => isRefused || (replyOf("turn") !== undefined && isGivenAnswered());

  function ask(step: Step, request: object, shown: object, extra: object = {}): Outgoing[] {
    const known = steps.get(step);
    if (known?.isSent === true) return [];
    const id = known?.id ?? `${turnId}:${settles}:${step}`;
    steps.set(step, { id, isSent: true, reply: undefined });
    return [
      {
        // It stands there already where a turnd that was killed has written it.
        record:
          known === undefined
            ? JSON.stringify({ [OWN_RECORD]: "asked", id, method: step, params: shown, ...extra })
            : undefined,
        message: JSON.stringify({ id, ...request }),
      },
    ];
  }

  function noteAsked({ id, method, params }: Asked): void {
    const step = STEPS.find((name) => name === method);
    if (step === undefined) return;
    // What this turnd has just asked is noted already.
    if (steps.get(step)?.id !== id) steps.set(step, { id, isSent: false, reply: undefined });
    const { sessionID, messageID, partID } = params;
    if (typeof sessionID === "string") sessionId = sessionID;
    if (typeof messageID === "string" && typeof partID === "string") ids = { messageID, partID };
  }

  function takeReply(reply: Reply): void {
    if (steers.has(reply.id)) steers.set(reply.id, reply);
    const [step, asked] = [...steps].find(([, { id }]) => id === reply.id) ?? [];
    if (step === undefined || asked === undefined) return;
    asked.reply = reply;
    if (step === "session") {
      const made = SessionInfo.safeParse(reply.body).data;
      if (reply.status === 200 && made !== undefined) sessionId = made.id;
      else isRefused = true;
    }
  }

  function takeChange(change: Change): void {
    const { type, data } = change;
    const asking = readAsking(change);
    if (asking !== undefined) asks.ask(asking);
    if (ANSWERED.has(type)) {
      const resolved = Resolved.safeParse(data).data;
      if (resolved !== undefined) asks.resolve(resolved.requestID);
    } else if (type === "message.updated" && sessionOf(data) === sessionId) {
      isInputSeen ||= MessageUpdated.safeParse(data).data?.info.id === ids?.messageID;
    } else if (type === "session.status" && sessionOf(data) === sessionId) {
      isRunning ||= isAsked("turn");
    } else if (type === "message.part.updated") {
      hasTools ||= PartUpdated.safeParse(data).data?.part.type === "tool";
    }
  }

  function noteNumber(line: string): void {
    const [, seq, aggregate] = /"seq":(\d+),"aggregateID":"([^"]+)"/.exec(line) ?? [];
    if (aggregate !== undefined && !firstSeen.has(aggregate)) firstSeen.set(aggregate, Number(seq));
  }

  /** What begins the turn, one request after the other. */
  function begin(): Outgoing[] {
    if (isToEnd && !isAsked("turn")) {
      isRefused = true;
      return [];
    }
    if (!isAsked("turn") && replyOf("session") === undefined && input.loadedThread === undefined) {
      return ask("session", sessionRequest(input), { resume: invocation.resume ?? null });
    }
    if (sessionId === undefined) return [];
    ids ??= { messageID: makeId("msg", input.nowMs, turnId), partID: makeId("prt", input.nowMs, turnId) };
    const shown = { sessionID: sessionId, ...ids };
    const begun = ask("turn", promptRequest(sessionId, ids, input), shown, { request_id: requestId });
    // Before it runs it can neither be interrupted nor take anything in.
    if (!isRunning) return begun;
    const next = isToEnd ? ask("abort", abortRequest(sessionId, input), {}) : giveAll(sessionId);
    return [...begun, ...next];
  }

  /** The CLI takes them in with its next request to the model. */
  function giveAll(session: string): Outgoing[] {
    return given.splice(0).map(({ turnId: later, requestId: laterRequest, prompt, nowMs }) => {
      const own = { messageID: makeId("msg", nowMs, later), partID: makeId("prt", nowMs, later) };
      const id = `${later}:0:steer`;
      steers.set(id, undefined);
      const params = { sessionID: session, ...own };
      return {
        record: JSON.stringify({ [OWN_RECORD]: "asked", id, method: "steer", params, request_id: laterRequest }),
        message: JSON.stringify({ id, ...promptRequest(session, own, { ...input, prompt }) }),
      };
    });
  }

  /** The turn has been answered: what its stream lacks is asked for. */
  function settle(): Outgoing[] {
    const dropped = asks.drop().map((record): Outgoing => ({ record }));
    if (isRefused) return dropped;
    const { reply } = steps.get("settle") ?? {};
    // A server that cannot be asked any more has ended, or is ended when it gives no sign of life.
    if (reply?.error !== undefined) return dropped;
    const isDue = reply === undefined || (settles < MAX_SETTLES && !isSettled(reply));
    if (!isDue) return dropped;
    if (reply !== undefined) {
      steps.delete("settle");
      settles += 1;
    }
    const first = sessionId === undefined ? undefined : firstSeen.get(sessionId);
    const from =
      isInputSeen || sessionId === undefined || first === undefined
        ? {}
        : { [sessionId]: Math.max(0, first - BEFORE_FIRST) };
    return [...dropped, ...ask("settle", settleRequest(from, invocation.workspace), {})];
  }

  function isSettled({ body }: Reply): boolean {
    const busy = typeof body === "object" && body !== null && "busy" in body ? body.busy : [];
    return !(Array.isArray(busy) && busy.includes(sessionId));
  }

  function isOver(): boolean {
    const { reply } = steps.get("settle") ?? {};
    const isAnswered = reply !== undefined && reply.error === undefined;
    return isRefused || (isAnswered && (isSettled(reply) || settles >= MAX_SETTLES));
  }

  return {
    observe(text) {
      const line = readLine(text);
      if (line.kind === "asked") noteAsked(line.asked);
      else if (line.kind === "answered") asks.note(line.answered);
      else if (line.kind === "reply") takeReply(line.reply);
      else if (line.kind === "change") {
        noteNumber(text);
        takeChange(line.change);
      } else if (line.kind === "lists") {
        const { permission, question } = line.lists;
        for (const data of permission) takeChange({ id: "", type: "permission.asked", data, atMs: undefined });
        for (const data of question) takeChange({ id: "", type: "question.asked", data, atMs: undefined });
      }
    },
    next() {
      if (hasEnded()) return settle();
      const answers = asks.next().map(({ asking, answer, record }): Outgoing => {
        const { path, body } = toAnswer(asking, answer);
        return { record, message: JSON.stringify({ id: `answer:${asking.id}`, ...answerRequest(path, body, input) }) };
      });
      return [...answers, ...begin()];
    },
    interrupt() {
      isToEnd = true;
    },
    give(more) {
      given.push(more);
    },
    answer: (id, answer, by) => asks.answer(id, answer, by),
    state: () => ({
      isBegun: isAsked("turn"),
      isEnded: hasEnded(),
      isOver: isOver(),
      hasTools,
      threadId: sessionId,
      asks: asks.pending(),
    }),
  };
}

const STEPS: readonly Step[] = ["session", "turn", "abort", "settle"];
const ANSWERED: ReadonlySet<string> = new Set(["permission.replied", "question.replied", "question.rejected"]);
