import type { Native } from "../../../../protocol/index.ts";
import { toEvidence, toExitFacts } from "../../classification/rules.ts";
import type { Fact, FailureDraft } from "../../contract/failures.ts";
import type { Ending, Outcome, TranslatedEvent } from "../../contract/translator.ts";
import { WITHOUT_COMPLETION } from "../failures/facts.ts";
import { classify, SERVER_RESUME_REFUSED, SESSION_MISMATCH } from "../failures/failure.ts";
import { toServerFact } from "../failures/typed-rules.ts";
import { ErrorNotice, TurnCompleted, type Notification, type Reply } from "./records.ts";

const RECONNECTING = /^Reconnecting\.\.\. (?:(\d{1,9})\/(\d{1,9})|waiting for network)/;
/** Requests without whose success there is no turn. */
const NEEDED: ReadonlySet<string> = new Set(["thread/start", "thread/resume", "turn/start"]);
const NO_THREAD =
  /no rollout found for thread|invalid session id|thread not found|failed to (?:read|load|parse) (?:the )?rollout/i;

/** How one turn ended, or why it did not begin, by what the server says. */
export interface TurnEnd {
  /** The server has said how the turn ended. */
  complete(params: Notification["params"], at: Place): void;
  /** An attempt failed that is made again; one that is not is said once more by the turn's end. */
  retry(params: Notification["params"], native: Native, at: Place): TranslatedEvent[];
  /** The server refused a request of turnd's. */
  refuse(method: string, error: NonNullable<Reply["error"]>, at: Place): void;
  /** The turn has begun after all. */
  accept(): void;
  /** Nothing more comes of this turn. */
  isOver(): boolean;
  explain(outcome: Outcome, stderr: readonly Fact[]): Pick<Ending, "failure" | "proof">;
}

/** Where something is said, and whether the provider has sent anything before. */
export interface Place {
  readonly line: number;
  readonly hasItems: boolean;
}

/** Follows one turn to its end. Law: success is proved: only `turn/completed` with the status `completed` is. */
export function createTurnEnd(): TurnEnd {
  let completed: Pick<Fact, "source" | "line" | "text"> | undefined;
  let failed: Fact | undefined;
  let refused: { readonly method: string; readonly fact: Fact } | undefined;
  let retryCause: Fact | undefined;
  let hasEnded = false;
  let waits = 0;
  return {
    complete(params, at) {
      const { data } = TurnCompleted.safeParse(params);
      if (data === undefined || hasEnded) return;
      hasEnded = true;
      const { status, error } = data.turn;
      const place = { on: "record", source: "stdout", line: at.line } as const;
      if (status === "completed") completed = { ...place, text: '"method":"turn/completed","status":"completed"' };
      else if (error !== undefined && error !== null) failed = toServerFact(error, at);
      else failed = { ...place, text: "interrupted (Ctrl-C)", words: `interrupted (status ${status})` };
    },
    retry(params, native, at) {
      const { data } = ErrorNotice.safeParse(params);
      if (data === undefined || !data.willRetry) return [];
      const { error } = data;
      const [, attempt, max] = RECONNECTING.exec(error.message) ?? [];
      retryCause = toServerFact(error, at);
      return [
        {
          type: "retry",
          data: {
            attempt: Number(attempt) > 0 ? Number(attempt) : (waits += 1),
            ...(Number(max) > 0 ? { max: Number(max) } : {}),
            code: classify([retryCause]).code,
            message: error.additionalDetails ?? error.message,
          },
          native,
        },
      ];
    },
    refuse(method, { message }, at) {
      if (NEEDED.has(method) && !hasEnded) refused = { method, fact: toServerFact({ message }, at) };
    },
    accept() {
      refused = undefined;
    },
    isOver: () => hasEnded || refused !== undefined,
    explain({ exit, wasStopped }, stderr) {
      if (completed !== undefined) {
        return { proof: { evidence: [toEvidence(completed)], seenIn: "cli-b-server/0.171.0/text-answer" } };
      }
      if (refused !== undefined && failed === undefined) return { failure: toRefusal(refused.method, refused.fact) };
      const record = failed ?? (wasStopped ? retryCause : undefined);
      if (record !== undefined) return { failure: classify([record]) };
      return { failure: classify([...(wasStopped ? [] : toExitFacts(exit, WITHOUT_COMPLETION)), ...stderr]) };
    },
  };
}

/** A thread that cannot be continued is what `resume_policy` decides about; everything else is the turn's failure. */
function toRefusal(method: string, fact: Fact): FailureDraft {
  if (method !== "thread/resume" || !NO_THREAD.test(fact.words ?? fact.text)) return classify([fact]);
  const message = `CLI B cannot continue the thread: ${fact.text}`;
  return { ...SERVER_RESUME_REFUSED, message, evidence: [toEvidence(fact)], isProven: true };
}

/** The server answered for another thread than the one that it was asked for. */
export function mismatchFailure(requested: string, bound: string, line: number): FailureDraft {
  return {
    ...SESSION_MISMATCH,
    message: `CLI B was to continue thread ${JSON.stringify(requested)} and answered for ${bound} instead.`,
    evidence: [toEvidence({ source: "stdout", line, text: `{"thread":{"id":"${bound}"}}` })],
    isProven: true,
  };
}
