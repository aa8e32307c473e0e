import { waitUnlessAborted } from "./wait-unless-aborted.ts";

/** Asks a question that costs more than memory, or gives its last answer again. @throws the signal's reason, once it has aborted */
export type SharedAnswer<T> = (signal?: AbortSignal) => Promise<T>;

export interface SharedAnswerOptions<T> {
  /** Asks; its signal aborts when no caller waits for the answer any more. */
  readonly ask: (signal: AbortSignal) => Promise<T>;
  /** How long an answer is given again, in milliseconds; a failure of `ask` never is. */
  readonly keptMs: (answer: T) => number;
  /** Milliseconds of a clock; one that cannot be set back unless given. */
  readonly clockMs?: () => number;
}

interface Question<T> {
  readonly answer: Promise<T>;
  readonly stopping: AbortController;
  waiting: number;
}

/**
 * Makes a question of which one at a time is asked, however many want the answer.
 *
 * A signal ends the waiting of the one who gave it. The asking goes on as long as another caller waits; when the last one has
 * left it is aborted, and that one leaves when it has ended: nothing of it remains.
 */
export function shareAnswer<T>({ ask, keptMs, clockMs = () => performance.now() }: SharedAnswerOptions<T>) {
  let kept: { readonly value: T; readonly at: number } | undefined;
  let asked: Question<T> | undefined;

  function begin(): Question<T> {
    const stopping = new AbortController();
    const question: Question<T> = { answer: askAndKeep(stopping.signal), stopping, waiting: 0 };
    const forget = (): void => {
      if (asked === question) asked = undefined;
    };
    question.answer.then(forget, forget);
    return question;
  }

  async function askAndKeep(signal: AbortSignal): Promise<T> {
    const value = await ask(signal);
    kept = { value, at: clockMs() };
    return value;
  }

  const answer: SharedAnswer<T> = async (signal) => {
    const ageMs = kept === undefined ? Infinity : clockMs() - kept.at;
    // A clock that was set back makes no answer eternal.
    if (kept !== undefined && ageMs >= 0 && ageMs < keptMs(kept.value)) return kept.value;
    signal?.throwIfAborted();
    const question = (asked ??= begin());
    question.waiting += 1;
    try {
      return await waitUnlessAborted(question.answer, signal);
    } finally {
      question.waiting -= 1;
      if (question.waiting === 0 && asked === question) {
        asked = undefined;
        question.stopping.abort(signal?.reason);
        // How it ended matters to no caller: all have left.
        await question.answer.catch(() => undefined);
      }
    }
  };
  return answer;
}
