import type { Conversation, ConversationInput, GivenInput, Outgoing } from "../../contract/interactive.ts";
import { defined } from "../../../../../kit/defined.ts";
import { toToolItem } from "./items.ts";
import { createOpenAsks } from "./open-asks.ts";
import {
  ItemNotice,
  placeOf,
  QueueList,
  readMessage,
  ThreadReply,
  TurnList,
  TurnReply,
  type Answered,
  type Notification,
  type Reply,
} from "./records.ts";
import {
  cleanRequest,
  interruptRequest,
  queueRequest,
  steerRequest,
  threadRequest,
  turnRequest,
  turnsRequest,
  unqueueRequest,
} from "./requests.ts";
import { createSteps } from "./steps.ts";

/** What is said to a running turn: by a later one, or with a decision. */
type Said = Pick<GivenInput, "turnId" | "prompt"> & Partial<Pick<GivenInput, "requestId">>;

/** How often the list of turns is looked at before an input counts as never taken. */
const LOOKS = 2;
/** Items that start nothing. */
const QUIET: ReadonlySet<string> = new Set(["userMessage", "agentMessage", "reasoning", "plan", "contextCompaction"]);

/**
 * Makes the conversation with an app server about one turn: opens the thread, empties its queue, asks for the turn, and
 * removes what the turn has left in the server.
 */
export function createConversation(input: ConversationInput): Conversation {
  const { epoch, turnId: clientId } = input;
  const steps = createSteps(epoch);
  const asks = createOpenAsks(input.isAsking);
  const items = new Map<string, unknown>();
  /** Turns of the thread that turnd did not ask for. */
  const strangers = new Set<string>();
  let threadId = input.loadedThread;
  let turnId: string | undefined;
  let isRunning = false;
  let isEnded = false;
  let isRefused = false;
  let hasTools = false;
  let isToEnd = false;
  let looks = 0;
  let queued: string[] = [];
  const given: Said[] = [];

  function takeReply(reply: Reply): void {
    const step = steps.take(reply);
    if (step === "thread") {
      const thread = ThreadReply.safeParse(reply.result);
      if (thread.success) threadId ??= thread.data.thread.id;
      else isRefused = true;
    } else if (step === "turn") {
      const turn = TurnReply.safeParse(reply.result);
      if (turn.success) turnId = turn.data.turn.id;
      else isRefused = true;
    } else if (step === "turns") {
      lookForInput(reply);
    } else if (step === "queue" || step === "rest") {
      const list = QueueList.safeParse(reply.result ?? {}).data?.data ?? [];
      queued = list.flatMap(({ id }) => (typeof id === "string" ? [id] : []));
      // Nothing is in it any more, whatever became of the request to take it out.
      if (queued.length === 0) for (const taken of ["unqueue", "unrest"] as const) steps.settle(taken);
    }
  }

  /** After a restart of turnd: whether the server has taken the turn's input. */
  function lookForInput(reply: Reply): void {
    looks += 1;
    const { data } = TurnList.safeParse(reply.result);
    const own = data?.data.find(({ items: taken }) => taken.some((item) => item.clientId === clientId));
    if (own === undefined) return;
    turnId ??= own.id;
    isRunning = own.status === "inProgress";
    isEnded = !isRunning;
  }

  function takeNotification({ method, params }: Notification): void {
    if (method === "serverRequest/resolved") {
      const { requestId } = params;
      if (typeof requestId === "number" || typeof requestId === "string") asks.resolve(requestId);
      return;
    }
    const place = placeOf(params);
    if (place.threadId !== threadId || place.turnId === undefined) return;
    const isOurs = place.turnId === turnId;
    if (method === "turn/started") {
      if (isOurs) isRunning = true;
      else strangers.add(place.turnId);
    } else if (method === "turn/completed") {
      strangers.delete(place.turnId);
      if (isOurs) [isRunning, isEnded] = [false, true];
    } else if (method === "item/started" && isOurs) {
      const { data } = ItemNotice.safeParse(params);
      if (data === undefined) return;
      items.set(data.item.id, data.item);
      hasTools ||= toToolItem(data.item, data.item.id) !== undefined || !QUIET.has(data.item.type);
    }
  }

  /** What begins the turn, one request after the other. */
  function begin(): Outgoing[] {
    if (isToEnd && !steps.isAsked("turn")) {
      isRefused = true;
      return [];
    }
    if (threadId === undefined) return steps.isDue("thread") ? [steps.ask("thread", threadRequest(input))] : [];
    if (steps.isAsked("turn")) return goOn(threadId);
    if (steps.isDue("queue")) return [steps.ask("queue", queueRequest(threadId))];
    if (!steps.isAnswered("queue")) return [];
    const left = emptyQueue("unqueue", threadId);
    if (left !== undefined) return left;
    // A turn that turnd did not begin: what is sent now would become a part of it.
    if (strangers.size > 0) return stopStrangers(threadId);
    return [steps.ask("turn", turnRequest(threadId, input), { request_id: input.requestId })];
  }

  /** @returns what is to be sent; undefined once the queue is empty */
  function emptyQueue(step: "unqueue" | "unrest", thread: string): Outgoing[] | undefined {
    if (queued.length > 0) return queued.splice(0).map((id) => steps.ask(step, unqueueRequest(thread, id)));
    if (!steps.isAsked(step) || steps.isAnswered(step)) return undefined;
    // Of a turnd that was killed: what is in the queue is looked up again.
    if (!steps.isUncertain(step)) return [];
    return steps.isOpen("queue") ? [] : [steps.ask("queue", queueRequest(thread))];
  }

  /** The turn was asked for: by this turnd, or by one that was killed before it knew whether the server had got that. */
  function goOn(thread: string): Outgoing[] {
    if (turnId === undefined && steps.isUncertain("turn")) {
      if (looks >= LOOKS) return [steps.ask("turn", turnRequest(thread, input), { request_id: input.requestId })];
      return steps.isOpen("turns") ? [] : [steps.ask("turns", turnsRequest(thread))];
    }
    // Before it has started it cannot be interrupted.
    if (isToEnd && isRunning && turnId !== undefined && steps.isDue("interrupt")) {
      return [steps.ask("interrupt", interruptRequest(thread, turnId))];
    }
    if (given.length > 0 && !isToEnd && isRunning && turnId !== undefined) return giveAll(thread, turnId);
    return stopStrangers(thread);
  }

  /** The server takes them in with its next request to the model, in this order. */
  function giveAll(thread: string, running: string): Outgoing[] {
    return given
      .splice(0)
      .map((more) => steps.ask("steer", steerRequest(thread, running, more), defined({ request_id: more.requestId })));
  }

  /** The server takes no reason of a decision: it is said to the model beside it. */
  function takeNote({ id, decision, note }: Answered): void {
    if (decision === "decline" && note !== undefined) given.push({ turnId: `${clientId}:note:${id}`, prompt: note });
  }

  function stopStrangers(thread: string): Outgoing[] {
    const [stranger] = strangers;
    return stranger === undefined || !steps.isDue("stop")
      ? []
      : [steps.ask("stop", interruptRequest(thread, stranger))];
  }

  /** What the turn has left in the server. Law: nothing outlives its turn. */
  function tidy(thread: string): Outgoing[] {
    if (steps.isDue("clean")) return [steps.ask("clean", cleanRequest(thread))];
    if (!steps.isAnswered("clean")) return [];
    if (steps.isDue("rest")) return [steps.ask("rest", queueRequest(thread))];
    if (!steps.isAnswered("rest")) return [];
    return emptyQueue("unrest", thread) ?? [];
  }

  const isTidy = (): boolean =>
    steps.isAnswered("clean") &&
    steps.isAnswered("rest") &&
    queued.length === 0 &&
    (!steps.isAsked("unrest") || steps.isAnswered("unrest"));

  return {
    observe(line) {
      const message = readMessage(line);
      if (message.kind === "asked") {
        const step = steps.note(message.asked);
        // By an earlier turnd it may have been said already.
        const { clientUserMessageId: saidId } = message.asked.params;
        if (step === "steer" && given[0]?.turnId === saidId) given.shift();
        // On a thread that the server had open nothing else says which it is.
        const { threadId: named } = message.asked.params;
        if (step !== "thread" && typeof named === "string") threadId ??= named;
      } else if (message.kind === "answered") {
        asks.note(message.answered);
        takeNote(message.answered);
      } else if (message.kind === "reply") {
        takeReply(message.reply);
      } else if (message.kind === "notification") {
        takeNotification(message.notification);
      } else if (message.kind === "request") {
        const { itemId } = message.request.params;
        asks.ask(message.request, typeof itemId === "string" ? items.get(itemId) : undefined);
      }
    },
    next() {
      const answers = asks.next(isEnded);
      if (isRefused) return answers;
      if (!isEnded) return [...answers, ...begin()];
      return threadId === undefined ? answers : [...answers, ...tidy(threadId)];
    },
    interrupt() {
      isToEnd = true;
    },
    give(more) {
      given.push(more);
    },
    answer: (id, answer, by) => asks.answer(id, answer, by),
    state: () => ({
      isBegun: steps.isAsked("turn"),
      isEnded: isEnded || isRefused,
      isOver: isRefused || (isEnded && isTidy()),
      hasTools,
      threadId,
      asks: asks.pending(),
    }),
  };
}
