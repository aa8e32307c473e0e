import type { Native } from "../../../../protocol/index.ts";
import { toEvidence, toExitFacts } from "../../classification/rules.ts";
import type { Fact, FailureDraft } from "../../contract/failures.ts";
import type { Ending, Outcome, TranslatedEvent } from "../../contract/translator.ts";
import { FINISH, FINISH_EMPTY, toErrorFact, WITHOUT_COMPLETION } from "../failures/facts.ts";
import { classify, SERVER_RESUME_REFUSED, SESSION_MISMATCH } from "../failures/failure.ts";
import { CliAError } from "../records/record.ts";
import { SessionError, SessionStatus, type Message, type Reply } from "./records.ts";

/** How one turn ended, or why it did not begin, by what the server says. */
export interface TurnEnd {
  /** An answer of the turn's, as it is now. */
  answer(message: Message, hasContent: boolean, line: number): void;
  error(data: unknown, line: number): void;
  retry(data: unknown, native: Native): TranslatedEvent[];
  /** The server's answer to a request without which there is no turn. */
  reply(step: "session" | "turn", reply: Reply, line: number): void;
  /** Nothing more comes of this turn. */
  isOver(): boolean;
  explain(
    outcome: Outcome,
    extra: { rejected: Fact | undefined; stderr: readonly Fact[] },
  ): Pick<Ending, "failure" | "proof">;
}

const ABORTED = "MessageAbortedError";

interface Answer {
  readonly message: Message;
  readonly hasContent: boolean;
  readonly line: number;
}

/** Follows one turn to its end. Law: success is proved: the last answer ends with `stop`, and the server has answered. */
export function createTurnEnd(requestedSession: string | null): TurnEnd {
  let last: Answer | undefined;
  let error: Fact | undefined;
  let refused: Fact | undefined;
  let isResumeRefused = false;
  let isAnswered = false;
  let retryCause: Fact | undefined;

  const isComplete = (): boolean =>
    isAnswered && last !== undefined && last.message.error === undefined && isFinished(last.message);

  return {
    answer(message, hasContent, line) {
      last = { message, hasContent, line };
      if (message.finish === "stop") error = undefined;
    },
    error(data, line) {
      const read = SessionError.safeParse(data).data;
      if (read !== undefined) error = toErrorFact(read.error, line);
    },
    retry(data, native) {
      const { status } = SessionStatus.safeParse(data).data ?? {};
      if (status?.type !== "retry") return [];
      const { attempt, message } = status;
      retryCause = { on: "record", source: "stdout", line: native.line, name: "APIError", text: message };
      const code = classify([retryCause]).code;
      return [{ type: "retry", data: { attempt: Math.max(1, attempt ?? 1), code, message }, native }];
    },
    reply(step, { status, body, error: why }, line) {
      if (step === "turn" && why === undefined) isAnswered = true;
      if (status === 200 || (step === "turn" && error !== undefined)) return;
      const said = CliAError.safeParse(body).data;
      const text = `the server answered with status ${status ?? "none"}`;
      // What became of a server that broke the connection off, its end says.
      if (why !== undefined) return;
      refused = said === undefined ? { on: "record", source: "stdout", line, text } : toErrorFact(said, line);
      isResumeRefused = step === "session" && requestedSession !== null && status === 404;
    },
    isOver: () => isAnswered || refused !== undefined,
    explain({ exit, wasStopped }, { rejected, stderr }) {
      if (isComplete() && last !== undefined) {
        const evidence = [toEvidence({ source: "stdout", line: last.line, text: '"finish":"stop"' })];
        return { proof: { evidence, seenIn: "cli-a-server/1.18.33/text-answer" } };
      }
      if (refused !== undefined && isResumeRefused) return { failure: toRefusal(refused) };
      const said = last?.message.error === undefined ? error : toErrorFact(last.message.error, last.line);
      // How a run ends that turnd itself has ended is turnd's doing.
      const own = wasStopped && said?.name === ABORTED ? undefined : said;
      const finish = last === undefined ? [] : toFinishFacts(last);
      const records = [own, rejected, refused].filter((fact) => fact !== undefined);
      const retries = wasStopped && retryCause !== undefined ? [retryCause] : [];
      const exits = wasStopped ? [] : toExitFacts(exit, WITHOUT_COMPLETION);
      return { failure: classify([...records, ...finish, ...retries, ...exits, ...stderr]) };
    },
  };
}

function isFinished({ time, finish, summary }: Message): boolean {
  return time.completed !== undefined && finish === "stop" && summary !== true;
}

function toFinishFacts({ message: { finish, summary }, hasContent, line }: Answer): Fact[] {
  if (finish === undefined || finish === "stop" || summary === true) return [];
  const name = hasContent ? FINISH : FINISH_EMPTY;
  const words = `"finish":${JSON.stringify(finish)}`;
  return [{ on: "record", source: "stdout", line, name, code: finish, text: `finish ${finish}`, words }];
}

/** A session that is not there is what `resume_policy` decides about. */
function toRefusal(fact: Fact): FailureDraft {
  const message = `CLI A cannot continue the session: ${fact.text}`;
  return { ...SERVER_RESUME_REFUSED, message, evidence: [toEvidence(fact)], isProven: true };
}

/** The server answered for another session than the one that it was asked for. */
export function mismatchFailure(requested: string, bound: string, line: number): FailureDraft {
  return {
    ...SESSION_MISMATCH,
    message: `CLI A was to continue session ${JSON.stringify(requested)} and answered for ${bound} instead.`,
    evidence: [toEvidence({ source: "stdout", line, text: `"id":"${bound}"` })],
    isProven: true,
  };
}
