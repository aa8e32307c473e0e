import { createInterface } from "node:readline/promises";
import type { ReadEvent } from "../../client/parse-event.ts";
import { lookUp, ProblemError, type ApprovalDecision, type InputRequest } from "../../protocol/index.ts";
import { safeText } from "../../../kit/command-line/text.ts";
import type { Context } from "./context.ts";

/** Answers at the terminal what a turn asks. */
export interface AskPerson {
  /** Takes an event of the turn: what it asks is asked, and what somebody else has answered is asked no more. */
  take(event: ReadEvent): void;
  /** Whether a question stands on the terminal. */
  isOpen(): boolean;
  /** Asks nothing more. */
  end(): void;
}

type Asked = Extract<ReadEvent, { type: "approval.requested" | "input.requested" }>;

const KEYS = { y: "accept", a: "accept_for_session", n: "decline", c: "cancel" } as const;
const WORDS: Readonly<Record<ApprovalDecision, string>> = {
  accept: "y: allow it once",
  accept_for_session: "a: allow it in this session",
  decline: "n [why]: decline",
  cancel: "c: end the turn",
};

/** What an answer at an approval means: a key, and behind it a reason; undefined where it means nothing. */
export function readDecision(
  answer: string,
  choices: readonly string[],
): { readonly decision: ApprovalDecision; readonly note?: string } | undefined {
  const [, key = "", note = ""] = /^([yanc])(?:\s+(\S[^]*))?$/i.exec(answer.trim()) ?? [];
  const decision = Object.entries(KEYS).find(([name]) => name === key.toLowerCase())?.[1];
  if (decision === undefined || !choices.includes(decision)) return undefined;
  return note === "" ? { decision } : { decision, note };
}

/** What is answered to one question: an option by its number or name, or a text where that can be. */
export function readAnswer(answer: string, question: InputRequest["questions"][number]): readonly string[] | undefined {
  const text = answer.trim();
  const chosen = question.options.find(({ label }, index) => label === text || `${index + 1}` === text);
  if (chosen !== undefined) return [chosen.label];
  return question.free_text && text !== "" ? [text] : undefined;
}

/** Asks on the terminal, one after the other, while the turn's events go on. Nobody is asked where there is none. */
export function createAskPerson(context: Context, turnId: string): AskPerson {
  const { client, terminal, stdin, stdout, isQuiet, signal } = context;
  const open = new Map<string, AbortController>();
  let last: Promise<void> = Promise.resolve();

  async function read(prompt: string, closed: AbortSignal): Promise<string> {
    // Not of a terminal's own kind: Ctrl-C stays what it is for the command.
    const lines = createInterface({ input: stdin, output: stdout, terminal: false });
    try {
      return await lines.question(prompt, { signal: closed });
    } finally {
      lines.close();
    }
  }

  async function askApproval({ data }: Extract<Asked, { type: "approval.requested" }>, closed: AbortSignal) {
    const choices = data.choices.flatMap((choice) => lookUp(WORDS, choice) ?? []);
    const prompt = `${choices.join(", ")} > `;
    let answer = readDecision(await read(prompt, closed), data.choices);
    while (answer === undefined) answer = readDecision(await read(prompt, closed), data.choices);
    await client.decide(turnId, data.approval_id, answer, { signal });
  }

  async function askQuestions({ data }: Extract<Asked, { type: "input.requested" }>, closed: AbortSignal) {
    const answers: Record<string, string[]> = {};
    for (const question of data.questions) {
      const prompt = `${safeText(question.header ?? "answer")} > `;
      let answer = readAnswer(await read(prompt, closed), question);
      while (answer === undefined) answer = readAnswer(await read(prompt, closed), question);
      answers[question.id] = [...answer];
    }
    await client.answer(turnId, data.question_id, answers, { signal });
  }

  async function ask(event: Asked, closed: AbortSignal): Promise<void> {
    if (closed.aborted) return;
    try {
      await (event.type === "approval.requested" ? askApproval(event, closed) : askQuestions(event, closed));
    } catch (error) {
      if (closed.aborted) terminal.notice("turnd: that has been answered");
      else if (error instanceof ProblemError) terminal.warn(`turnd: ${error.message}`);
      else if (!signal.aborted) throw error;
    }
  }

  function begin(id: string, event: Asked): void {
    const closing = new AbortController();
    open.set(id, closing);
    const closed = AbortSignal.any([closing.signal, signal]);
    last = last
      .then(() => ask(event, closed))
      .catch((error: unknown) => terminal.warn(`turnd: not answered: ${String(error)}`))
      .finally(() => open.delete(id));
  }

  /** What is typed would be seen. */
  const isSecret = (event: Asked): boolean =>
    event.type === "input.requested" && event.data.questions.some(({ secret }) => secret);

  return {
    take(event) {
      switch (event.type) {
        case "approval.requested":
        case "input.requested": {
          if (!terminal.isInteractive || isQuiet || isSecret(event)) break;
          begin(event.type === "approval.requested" ? event.data.approval_id : event.data.question_id, event);
          break;
        }
        case "approval.resolved":
          open.get(event.data.approval_id)?.abort();
          break;
        case "input.answered":
          open.get(event.data.question_id)?.abort();
          break;
        default:
      }
    },
    isOpen: () => open.size > 0,
    end() {
      for (const closing of open.values()) closing.abort();
    },
  };
}
