import { OWN_RECORD } from "../../contract/own-record.ts";
import type { Outgoing } from "../../contract/interactive.ts";
import type { Asked, Reply } from "./records.ts";
import type { Request } from "./requests.ts";

/** What turnd asks of a server for one turn, in order; the id of a request names its step. */
const STEPS = [
  "thread",
  "queue",
  "unqueue",
  "turn",
  "turns",
  "steer",
  "interrupt",
  "stop",
  "clean",
  "rest",
  "unrest",
] as const;
export type Step = (typeof STEPS)[number];

/** Which steps of a turn have been asked, and which were answered; by an earlier turnd, too. */
export interface Steps {
  ask(step: Step, request: Request, extra?: object): Outgoing;
  isAsked(step: Step): boolean;
  isAnswered(step: Step): boolean;
  /** It was never asked, or by a turnd that was killed before it was answered. */
  isDue(step: Step): boolean;
  /** It was asked by a turnd that was killed, and not answered: whether the server has it is not known. */
  isUncertain(step: Step): boolean;
  /** It was asked by this turnd, and is not answered yet. */
  isOpen(step: Step): boolean;
  /** It is answered in another way, where it was asked. */
  settle(step: Step): void;
  /** Takes what stands in the turn's stdout of turnd's own. */
  note(asked: Asked): Step | undefined;
  /** @returns the step that a reply answers; undefined for any other reply */
  take(reply: Reply): Step | undefined;
}

/** @param epoch - names this turnd */
export function createSteps(epoch: string): Steps {
  const steps = new Map<Step, { epoch: string; isAnswered: boolean }>();
  let count = 0;

  return {
    ask(step, { method, params, hidden = [] }, extra = {}) {
      count += 1;
      const id = `${epoch}:${count}:${step}`;
      const shown = Object.fromEntries(Object.entries(params).filter(([name]) => !hidden.includes(name)));
      steps.set(step, { epoch, isAnswered: false });
      return {
        record: JSON.stringify({ [OWN_RECORD]: "asked", id, method, params: shown, ...extra }),
        message: JSON.stringify({ id, method, params }),
      };
    },
    isAsked: (step) => steps.has(step),
    isAnswered: (step) => steps.get(step)?.isAnswered === true,
    isDue(step) {
      const known = steps.get(step);
      return known === undefined || (!known.isAnswered && known.epoch !== epoch);
    },
    isUncertain(step) {
      const known = steps.get(step);
      return known !== undefined && !known.isAnswered && known.epoch !== epoch;
    },
    isOpen(step) {
      const known = steps.get(step);
      return known !== undefined && !known.isAnswered && known.epoch === epoch;
    },
    settle(step) {
      if (steps.has(step)) steps.set(step, { epoch, isAnswered: true });
    },
    note({ id }) {
      const [of = "", number, name] = id.split(":");
      const step = STEPS.find((one) => one === name);
      if (step === undefined) return undefined;
      if (of === epoch) count = Math.max(count, Number(number));
      const known = steps.get(step);
      // What this turnd has just asked is noted already.
      if (known === undefined || known.epoch !== of) steps.set(step, { epoch: of, isAnswered: false });
      return step;
    },
    take({ id }) {
      const [of = "", , name] = `${id}`.split(":");
      const step = STEPS.find((one) => one === name);
      if (step === undefined || !steps.has(step)) return undefined;
      // The answer to an earlier request for the same is as good.
      steps.set(step, { epoch: of, isAnswered: true });
      return step;
    },
  };
}
