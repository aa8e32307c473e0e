import type { AnsweredBy } from "../../../../protocol/index.ts";
import type { AnswerTaken, AskAnswer, PendingAsk } from "../../contract/interactive.ts";
import { OWN_RECORD } from "../../contract/own-record.ts";
import type { Asking } from "./asks.ts";
import type { Answered } from "./records.ts";

/** An answer that is to be sent. */
export interface DueAnswer {
  readonly asking: Asking;
  readonly answer: AskAnswer;
  /** Absent where it stands in the turn's stdout already. */
  readonly record: string | undefined;
}

/** What the server asks of a person, or of turnd in a person's place, while one turn runs. */
export interface OpenAsks {
  ask(asking: Asking): void;
  /** Takes an answer that stands in the turn's stdout. */
  note(answered: Answered): void;
  /** The server has the answer, or does without. */
  resolve(id: string): void;
  answer(id: string, answer: AskAnswer, by: AnsweredBy): AnswerTaken;
  /** What is to be sent now. */
  next(): DueAnswer[];
  /** What nobody has answered when the turn has ended: the server has dropped it. */
  drop(): string[];
  pending(): PendingAsk[];
}

interface Open {
  readonly asking: Asking;
  answered: AskAnswer | undefined;
  isSent: boolean;
}

const DECLINED: Readonly<Record<Asking["kind"], AskAnswer>> = {
  approval: { kind: "approval", decision: "decline" },
  input: { kind: "input", answers: {} },
};
const CANCELLED: typeof DECLINED = { ...DECLINED, approval: { kind: "approval", decision: "cancel" } };

/** @param isAsking - whether people are asked; otherwise everything is declined at once, or the turn waits for ever */
export function createOpenAsks(isAsking: boolean): OpenAsks {
  const open = new Map<string, Open>();
  /** Every answer of this turn. */
  const given = new Map<string, AskAnswer>();
  const due: DueAnswer[] = [];

  function give(one: Open, answer: AskAnswer, by: AnsweredBy): DueAnswer {
    one.answered = answer;
    one.isSent = true;
    given.set(one.asking.id, answer);
    return { asking: one.asking, answer, record: toRecord(one.asking, answer, by) };
  }

  return {
    ask(asking) {
      if (!open.has(asking.id)) open.set(asking.id, { asking, answered: given.get(asking.id), isSent: false });
    },
    note({ id, decision, answers = {} }) {
      const answer: AskAnswer = decision === undefined ? { kind: "input", answers } : { kind: "approval", decision };
      given.set(id, answer);
      const one = open.get(id);
      if (one !== undefined) one.answered ??= answer;
    },
    resolve: (id) => void open.delete(id),
    answer(id, answer, by) {
      const before = given.get(id);
      if (before !== undefined) return JSON.stringify(before) === JSON.stringify(answer) ? "same" : "resolved";
      const one = open.get(id);
      if (one === undefined || one.asking.kind !== answer.kind) return "unknown";
      due.push(give(one, answer, by));
      return "taken";
    },
    next() {
      const answers = due.splice(0);
      for (const one of open.values()) {
        if (one.isSent) continue;
        if (one.answered === undefined) {
          if (!isAsking) answers.push(give(one, DECLINED[one.asking.kind], "policy"));
        } else {
          // Of a turnd that was killed: whether the server has it is not known, and the relay knows what it has sent.
          one.isSent = true;
          answers.push({ asking: one.asking, answer: one.answered, record: undefined });
        }
      }
      return answers;
    },
    drop() {
      const left = [...open.values()].filter(({ answered }) => answered === undefined);
      open.clear();
      return left.map(({ asking }) => toRecord(asking, CANCELLED[asking.kind], "turn_ended"));
    },
    pending: () =>
      [...open.values()].flatMap(({ asking, answered }): PendingAsk[] => {
        if (answered !== undefined) return [];
        return asking.kind === "approval"
          ? [{ kind: "approval", request: asking.request }]
          : [{ kind: "input", request: asking.request }];
      }),
  };
}

function toRecord({ id }: Asking, answer: AskAnswer, by: AnsweredBy): string {
  const said = answer.kind === "approval" ? { decision: answer.decision } : { answers: answer.answers };
  return JSON.stringify({ [OWN_RECORD]: "answered", id, ...said, by });
}
