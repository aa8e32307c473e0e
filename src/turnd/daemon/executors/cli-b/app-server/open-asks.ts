import { defined } from "../../../../../kit/defined.ts";
import type { AnsweredBy } from "../../../../protocol/index.ts";
import { OWN_RECORD } from "../../contract/own-record.ts";
import type { AnswerTaken, AskAnswer, Outgoing, PendingAsk } from "../../contract/interactive.ts";
import { readAsking, type Asking } from "./approvals.ts";
import type { Answered, MessageId, ServerRequest } from "./records.ts";

/** What the server asks of a person, or of turnd in a person's place, while one turn runs. */
export interface OpenAsks {
  ask(request: ServerRequest, item: unknown): void;
  /** Takes an answer that stands in the turn's stdout. */
  note(answered: Answered): void;
  /** The server has the answer, or does without. */
  resolve(id: MessageId): void;
  answer(id: string, answer: AskAnswer, by: AnsweredBy): AnswerTaken;
  /** What is to be sent now. @param hasEnded - the turn has: the server has dropped what it asked */
  next(hasEnded: boolean): Outgoing[];
  pending(): PendingAsk[];
}

interface Open {
  readonly id: MessageId;
  readonly asking: Asking;
  /** Stands in the turn's stdout. */
  answered: AskAnswer | undefined;
}

const NOT_ANSWERED = { code: -32_601, message: "turnd does not answer this" };

/** @param isAsking - whether people are asked; otherwise everything is declined at once, or the turn hangs */
export function createOpenAsks(isAsking: boolean): OpenAsks {
  const open = new Map<MessageId, Open>();
  /** Every answer of this turn, by the id of what was asked. */
  const given = new Map<string, AskAnswer>();
  /** Answers that this turnd has sent; of others it is not known whether they were. */
  const sent = new Set<MessageId>();
  const outgoing: Outgoing[] = [];

  function toMessage({ id, asking }: Open, answer: AskAnswer | undefined): string {
    sent.add(id);
    const result = answer === undefined ? undefined : resultOf(asking, answer);
    return JSON.stringify(result === undefined ? { id, error: NOT_ANSWERED } : { id, result });
  }

  function send(one: Open, answer: AskAnswer | undefined, by: AnsweredBy): Outgoing {
    one.answered = answer ?? { kind: "input", answers: {} };
    return { record: toRecord(one, answer, by), message: toMessage(one, answer) };
  }

  return {
    ask(request, item) {
      open.set(request.id, { id: request.id, asking: readAsking(request, item), answered: undefined });
    },
    note({ id, decision, note, answers = {} }) {
      const one = open.get(id);
      if (one === undefined) return;
      one.answered ??=
        decision === undefined ? { kind: "input", answers } : { kind: "approval", decision, ...defined({ note }) };
      given.set(`${id}`, one.answered);
    },
    resolve(id) {
      if (open.get(id)?.answered !== undefined) open.delete(id);
    },
    answer(id, answer, by) {
      const before = given.get(id);
      if (before !== undefined) return JSON.stringify(before) === JSON.stringify(answer) ? "same" : "resolved";
      const one = [...open.values()].find((candidate) => `${candidate.id}` === id);
      if (one === undefined || one.asking.kind !== answer.kind) return "unknown";
      given.set(id, answer);
      outgoing.push(send(one, answer, by));
      return "taken";
    },
    next(hasEnded) {
      const answers = outgoing.splice(0);
      for (const one of open.values()) {
        if (hasEnded) {
          open.delete(one.id);
          if (one.answered === undefined)
            answers.push({ record: toRecord(one, CANCELLED[one.asking.kind], "turn_ended") });
        } else if (one.answered === undefined) {
          if (one.asking.kind === "unknown" || !isAsking) answers.push(send(one, DECLINED[one.asking.kind], "policy"));
        } else if (!sent.has(one.id)) {
          // Of a turnd that was killed: once more does no harm, and not at all would let the turn wait for ever.
          answers.push({ record: undefined, message: toMessage(one, one.answered) });
        }
      }
      return answers;
    },
    pending: () =>
      [...open.values()].flatMap(({ asking, answered }): PendingAsk[] => {
        if (answered !== undefined || asking.kind === "unknown") return [];
        return asking.kind === "approval"
          ? [{ kind: "approval", request: asking.request }]
          : [{ kind: "input", request: asking.request }];
      }),
  };
}

const DECLINED: Readonly<Record<Asking["kind"], AskAnswer | undefined>> = {
  approval: { kind: "approval", decision: "decline" },
  input: { kind: "input", answers: {} },
  unknown: undefined,
};
const CANCELLED: typeof DECLINED = { ...DECLINED, approval: { kind: "approval", decision: "cancel" } };

/** A secret answer does not stand in the turn's stdout. Law: keys travel aside. */
function toRecord({ id, asking }: Open, answer: AskAnswer | undefined, by: AnsweredBy): string {
  const isSecret = asking.kind === "input" && asking.request.questions.some(({ secret }) => secret);
  const said =
    answer?.kind === "approval"
      ? { decision: answer.decision, ...defined({ note: answer.note }) }
      : answer?.kind === "input" && !isSecret
        ? { answers: answer.answers }
        : {};
  return JSON.stringify({ [OWN_RECORD]: "answered", id, ...said, by });
}

function resultOf(asking: Asking, answer: AskAnswer): object | undefined {
  if (asking.kind === "approval" && answer.kind === "approval") return asking.answer(answer.decision);
  if (asking.kind === "input" && answer.kind === "input") return asking.answer(answer.answers);
  return undefined;
}
