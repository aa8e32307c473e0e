import { defined } from "../../../../../kit/defined.ts";
import type { Native, Usage } from "../../../../protocol/index.ts";
import type { FailureDraft } from "../../contract/failures.ts";
import type { TranslatedEvent } from "../../contract/translator.ts";
import { toEvidence } from "../../classification/rules.ts";
import { AIMLESS_STEPS } from "../failures/failure.ts";
import type { CliARecord } from "../records/record.ts";
import { addUsage, toUsage } from "./usage.ts";

type Finish = Extract<CliARecord, { type: "step_finish" }>["part"];

/** The steps of one process: their numbers, what they cost, and whether they lead anywhere. */
export interface StepTracker {
  start(messageId: string, native: Native): TranslatedEvent[];
  /** Whether the step of this message has started and not ended. */
  isOpen(messageId: string): boolean;
  /** Something was printed within the step. */
  addContent(kind: "text" | "tool"): void;
  finish(part: Finish, native: Native): { readonly events: TranslatedEvent[]; readonly halt?: FailureDraft };
  hasContent(): boolean;
  usage(): Usage | undefined;
  /** 0 when no price is configured: the cost is not known then. */
  costUsd(): number;
}

/** 1.3.2 asks again for ever when an answer ends without a reason. Source: docs/contracts/cli-a.md §6. */
const MAX_AIMLESS_STEPS = 5;
const AIMLESS = new Set(["unknown", "other"]);

/** Creates a tracker for one process. */
export function createStepTracker(): StepTracker {
  let index = -1;
  let openMessage: string | undefined;
  let hasText = false;
  let hasTool = false;
  let aimless = 0;
  let usage: Usage | undefined;
  let costUsd = 0;

  function open(messageId: string, native: Native): TranslatedEvent[] {
    index += 1;
    openMessage = messageId;
    hasText = false;
    hasTool = false;
    return [{ type: "step.started", data: { index }, native }];
  }

  return {
    start(messageId, native) {
      // The answer of a step was cut off and is asked for again: still the same step.
      if (openMessage === messageId) return [];
      if (openMessage === undefined) return open(messageId, native);
      return [{ type: "step.ended", data: { index, reason: "interrupted" }, native }, ...open(messageId, native)];
    },
    isOpen: (messageId) => openMessage === messageId,
    addContent(kind) {
      if (kind === "tool") hasTool = true;
      else hasText = true;
    },
    finish({ messageID, reason, tokens, cost }, native) {
      const started = openMessage === undefined ? open(messageID, native) : [];
      openMessage = undefined;
      const used = tokens === undefined ? undefined : toUsage(tokens);
      usage = addUsage(usage, used);
      costUsd += cost;
      const data = {
        index,
        reason,
        ...defined({ usage: used }),
        ...(cost === 0 ? {} : { cost_usd: cost }),
      };
      aimless = AIMLESS.has(reason) && !hasTool ? aimless + 1 : 0;
      return {
        events: [...started, { type: "step.ended", data, native }],
        ...(aimless < MAX_AIMLESS_STEPS ? {} : { halt: toHalt(reason, native.line) }),
      };
    },
    hasContent: () => hasText || hasTool,
    usage: () => usage,
    costUsd: () => costUsd,
  };
}

function toHalt(reason: string, line: number): FailureDraft {
  return {
    ...AIMLESS_STEPS,
    message: `The provider's answers end without saying why, and CLI A asked again without end until it was stopped after ${MAX_AIMLESS_STEPS} such steps.`,
    evidence: [toEvidence({ source: "stdout", line, text: `"reason":${JSON.stringify(reason)}` })],
    isProven: true,
  };
}

/** The part's own id; where it has none, its line names it within the turn. */
export function nameMessage(id: string, { line }: Native): string {
  return id === "" ? `line-${line}` : id;
}
